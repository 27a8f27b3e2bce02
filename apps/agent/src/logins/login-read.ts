import type { OpenLogin } from './machine-logins.js';

/** ReadAnswer is the result of one read. */
export interface ReadAnswer {
  /** The value for templates; undefined if there is nothing, so that a template waits. */
  readonly value: unknown;
  /** The index of Consul's answer, for which the next read waits; 0 for Vault. */
  readonly index: number;
  /** The time in milliseconds until the next read. */
  readonly againMs: number;
  /** The lease of the value, which the next read renews. */
  readonly leaseId?: string;
}

export interface ReadContext {
  readonly opened: OpenLogin;
  readonly token: string;
  /** The last answer, if it was with the same token. */
  readonly last: ReadAnswer | undefined;
  /** Returns a number in [0, 1). */
  readonly random: () => number;
  readonly nowMs: () => number;
  readonly signal: AbortSignal;
}

/** LoginRead reads from Vault or Consul with a task's token. @throws ServerAwayError, ServerRefusedError */
export type LoginRead = (context: ReadContext) => Promise<ReadAnswer>;
