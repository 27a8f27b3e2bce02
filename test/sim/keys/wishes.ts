import type { SeededRandom } from '../kernel/seeded-random.js';

/** Everything that a client writes begins with this, so that it is noticed wherever it is not encrypted. */
export const SECRET = 'top-secret-';

/** A write as a client asked for it. No two have the same items. */
export interface Wish {
  readonly requestId: string;
  readonly path: string;
  readonly op: 'set' | 'cas' | 'delete' | 'acquire' | 'release';
  readonly items?: Readonly<Record<string, string>>;
  /** Of the lock that the client shows, or asks for; empty: none. */
  readonly lockId: string;
  /** True time, unix milliseconds. */
  readonly askedMs: number;
}

export const itemsOf = (random: SeededRandom, more: Readonly<Record<string, string>> = {}): Record<string, string> => ({
  secret: `${SECRET}${random.uuid()}`,
  ...more,
});
