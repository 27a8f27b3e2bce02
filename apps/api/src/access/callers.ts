import { Acl, type AclCache } from '@waybill/acl';
import { TokenRefusedError } from '@waybill/keyring';
import { type AclPolicy, ANONYMOUS_POLICY, type Clock, isExpiredAt, Refusal } from '@waybill/model';
import type { TokenGrants } from '@waybill/projection';
import { anonymous, type Caller, EVERYBODY, withToken } from './caller.js';
import { RecentReads } from './recent-reads.js';
import { isIdentityToken, workloadCaller, type WorkloadSource } from './workload-callers.js';

/** Where tokens, policies and roles are read. `ReadModel.access` is one. */
export interface AccessSource {
  /** The token of a secret with what it grants, all of one moment (OP-117); undefined: there is no such token. */
  grantsBySecretHash(hash: string): Promise<TokenGrants | undefined>;
  /** The index of the last change of tokens, policies or roles. */
  changeIndex(): Promise<number>;
  /** Those of these policies that exist. */
  policiesNamed(names: readonly string[]): Promise<readonly AclPolicy[]>;
}

export interface CallersOptions {
  readonly source: AccessSource;
  /** Turns a secret into what its token is found by. `TokenSecrets` is one. */
  readonly secrets: { hash(secret: string): string };
  readonly compiled: AclCache;
  /** For callers that send the identity of a workload. */
  readonly workloads: WorkloadSource;
  readonly clock: Clock;
  /** Whether changes of tokens, policies and roles are heard of now. */
  readonly hearsChanges: () => boolean;
}

export type RefusedBecause = 'unknown' | 'expired';

/** Finds out who sends a request. `Callers` is one; `everybody` another. */
export interface CallerSource {
  /** @throws RefusedCredential; what the read model throws */
  of(credential: string | undefined): Promise<Caller>;
  /** Calls the listener when rights may have changed. Returns the way to stop. */
  onChange(listener: () => void): () => void;
}

/** Answers while access control is off: everything is allowed to everybody, whatever they send (OP-110). */
export const everybody: CallerSource = { of: async () => EVERYBODY, onChange: () => () => {} };

/** The credential of a request is refused: it is never taken for the anonymous caller instead (OP-115). */
export class RefusedCredential extends Refusal {
  constructor(readonly because: RefusedBecause) {
    super('forbidden', 'Permission denied');
  }
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Callers remembered by one process, unknown secrets included. */
export const MAX_REMEMBERED = 20_000;
/** How long callers are believed to be what they were: a lost announcement keeps no right alive for longer. */
export const REMEMBER_MS = 10_000;

/**
 * Finds out who sends a request (OP-112 to OP-118). Callers are read from the read model, token, roles and policies in one
 * statement's moment, and remembered until one of them changes: `changed` says so, the index of the last change is compared
 * every REMEMBER_MS, and while changes are not heard of nothing is remembered. A read that fails fails the request; nobody ever gets other rights than their own.
 * Limits: MAX_REMEMBERED. Cost: a keyed hash and a look-up for a caller that is remembered, else up to three statements.
 */
export class Callers implements CallerSource {
  private readonly listeners = new Set<() => void>();
  private readonly recent: RecentReads<Caller | undefined>;

  constructor(private readonly options: CallersOptions) {
    this.recent = new RecentReads({
      most: MAX_REMEMBERED,
      forMs: REMEMBER_MS,
      version: () => options.source.changeIndex(),
      clock: options.clock,
    });
  }

  /** Called, synchronously, whenever tokens, policies or roles may have changed. Returns the way to stop. */
  onChange(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Tokens, policies or roles have changed: requests from now on see them (OP-118). */
  changed(): void {
    this.recent.forget();
    for (const listener of this.listeners) listener();
  }

  /**
   * The caller with this credential.
   * @param credential secret of a token, or identity of a workload; undefined or empty: none was sent
   * @throws RefusedCredential it is unknown or expired; what the read model throws
   */
  async of(credential = ''): Promise<Caller> {
    if (isIdentityToken(credential)) return this.workload(credential);
    if (!this.options.hearsChanges()) this.recent.forget();
    const secret = credential.toLowerCase();
    if (secret !== '' && !UUID.test(secret)) throw new RefusedCredential('unknown');
    const key = secret === '' ? '' : this.options.secrets.hash(secret);
    const caller = await this.recent.of(key, () => (key === '' ? this.nobody() : this.ownerOf(key)));
    if (!caller) throw new RefusedCredential('unknown');
    // A token stops counting at the instant of its expiry, although its row is still stored (OP-154).
    if (caller.token && isExpiredAt(caller.token.ExpirationTime, this.options.clock.nowMs()))
      throw new RefusedCredential('expired');
    return caller;
  }

  /** Why an identity is refused is for no caller to know (AU-174). */
  private async workload(token: string): Promise<Caller> {
    try {
      return await workloadCaller(token, this.options.workloads, (policies) => this.compiled(policies));
    } catch (error) {
      if (error instanceof TokenRefusedError) throw new RefusedCredential('unknown');
      throw error;
    }
  }

  private async nobody(): Promise<Caller> {
    return anonymous(this.compiled(await this.options.source.policiesNamed([ANONYMOUS_POLICY])));
  }

  private async ownerOf(secretHash: string): Promise<Caller | undefined> {
    const grants = await this.options.source.grantsBySecretHash(secretHash);
    if (!grants) return undefined;
    const { token, policies } = grants;
    return withToken(grants, token.Type === 'management' ? Acl.management : this.compiled(policies));
  }

  private compiled(policies: readonly AclPolicy[]): Acl {
    if (policies.length === 0) return Acl.none;
    return this.options.compiled.get(
      policies.map(({ Name, Rules, ModifyIndex }) => ({ name: Name, rules: Rules, modifyIndex: ModifyIndex })),
    );
  }
}
