import { Acl, type AclCache } from '@waybill/acl';
import { isSignedToken, TokenRefusedError } from '@waybill/keyring';
import { type AclPolicy, ANONYMOUS_POLICY, type Clock, isExpiredAt, Refusal } from '@waybill/model';
import type { ProjectionFeed, TokenGrants } from '@waybill/projection';
import { anonymous, type Caller, EVERYBODY, newestOf, rightsKeysOf, withToken } from './caller.js';
import { RecentReads } from './recent-reads.js';
import { workloadCaller, type WorkloadSource } from './workload-callers.js';

/** AccessSource reads tokens, policies and roles. `ReadModel.access` implements it. */
export interface AccessSource {
  /**
   * Returns the token of a secret with its grants, all as of one moment (OP-117). The result is undefined if there is
   * no such token.
   */
  grantsBySecretHash(hash: string): Promise<TokenGrants | undefined>;
  /** Returns the index of the last change of tokens, policies or roles. */
  changeIndex(): Promise<number>;
  /** Returns those of the named policies that exist. */
  policiesNamed(names: readonly string[]): Promise<readonly AclPolicy[]>;
}

export interface CallersOptions {
  readonly source: AccessSource;
  /** Hashes a secret to the keys under which its token may be found. `TokenSecrets` implements it. */
  readonly secrets: { hashes(secret: string): readonly string[] };
  readonly compiled: AclCache;
  /** The source for callers that send the identity of a workload. */
  readonly workloads: WorkloadSource;
  readonly clock: Clock;
  /** Says whether announcements of changed tokens, policies and roles arrive now. */
  readonly hearsChanges: () => boolean;
  /** The announcements of changed rows. `ProjectionFeed` implements them. */
  readonly changes: Pick<ProjectionFeed, 'onChangeOf'>;
}

export type RefusedBecause = 'unknown' | 'expired';

/** CallerSource finds out who sends a request. `Callers` and `everybody` implement it. */
export interface CallerSource {
  /** @throws RefusedCredential; the errors of the read model */
  of(credential: string | undefined): Promise<Caller>;
  /**
   * Calls the listener synchronously when the rights of this caller may have changed. Returns a function that stops the
   * calls.
   */
  onChangeOf(caller: Caller, listener: () => void): () => void;
}

/** everybody is the source while access control is off. Every caller may do everything, whatever they send (OP-110). */
export const everybody: CallerSource = { of: async () => EVERYBODY, onChangeOf: () => () => {} };

/**
 * RefusedCredential says that the credential of a request is refused. Such a request never gets the rights of the
 * anonymous caller instead (OP-115).
 */
export class RefusedCredential extends Refusal {
  constructor(readonly because: RefusedBecause) {
    super('forbidden', 'Permission denied');
  }
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The largest number of callers that one process remembers, unknown secrets included. */
export const MAX_REMEMBERED = 20_000;
/**
 * The time for which a caller counts as unchanged, in milliseconds. A lost announcement keeps a right alive no longer
 * than that.
 */
export const REMEMBER_MS = 10_000;

/**
 * Callers finds out who sends a request (OP-112 to OP-118). It reads token, roles and policies from the read model as
 * of one moment, and remembers the caller until one of them changes. `invalidateAll` reports a change; in addition the index
 * of the last change is compared every REMEMBER_MS. While no announcements arrive, nothing is remembered. If a read
 * fails, the request fails; nobody ever gets rights other than their own.
 * Limits: MAX_REMEMBERED. Cost: a keyed hash and a look-up for a remembered caller, otherwise up to three statements.
 */
export class Callers implements CallerSource {
  private readonly recent: RecentReads<Caller | undefined>;

  constructor(private readonly options: CallersOptions) {
    this.recent = new RecentReads({
      most: MAX_REMEMBERED,
      forMs: REMEMBER_MS,
      version: () => options.source.changeIndex(),
      clock: options.clock,
    });
  }

  /** Finds the callers concerned by the keys of their rows, so a change costs nothing for all others (AU-234). */
  onChangeOf(caller: Caller, listener: () => void): () => void {
    return this.options.changes.onChangeOf(rightsKeysOf(caller), listener);
  }

  /**
   * Forgets all callers, because tokens, policies or roles have changed. Requests from now on see the change (OP-118).
   */
  invalidateAll(): void {
    this.recent.clearValues();
  }

  /**
   * Returns the caller with this credential.
   * @param credential the secret of a token or the identity of a workload; undefined or empty if the request has none
   * @throws RefusedCredential if it is unknown or expired; the errors of the read model
   */
  async of(credential = ''): Promise<Caller> {
    if (isSignedToken(credential)) return this.workload(credential);
    if (!this.options.hearsChanges()) this.recent.clearValues();
    const secret = credential.toLowerCase();
    if (secret !== '' && !UUID.test(secret)) throw new RefusedCredential('unknown');
    const hashes = secret === '' ? [] : this.options.secrets.hashes(secret);
    const caller = await this.recent.of(hashes[0] ?? '', () =>
      hashes.length === 0 ? this.anonymousCaller() : this.ownerOf(hashes),
    );
    if (!caller) throw new RefusedCredential('unknown');
    // A token is invalid from the instant of its expiry, although its row is still stored (OP-154).
    if (caller.token && isExpiredAt(caller.token.ExpirationTime, this.options.clock.nowMs()))
      throw new RefusedCredential('expired');
    return caller;
  }

  /** Returns the caller of an identity. No caller learns why an identity is refused (AU-174). */
  private async workload(token: string): Promise<Caller> {
    try {
      return await workloadCaller(token, this.options.workloads, (policies) =>
        this.options.compiled.ofPolicies(policies),
      );
    } catch (error) {
      if (error instanceof TokenRefusedError) throw new RefusedCredential('unknown');
      throw error;
    }
  }

  private async anonymousCaller(): Promise<Caller> {
    const policies = await this.options.source.policiesNamed([ANONYMOUS_POLICY]);
    return anonymous(this.options.compiled.ofPolicies(policies), newestOf(policies));
  }

  private async ownerOf(secretHashes: readonly string[]): Promise<Caller | undefined> {
    const grants = await this.grantsOf(secretHashes);
    if (!grants) return undefined;
    const { token, policies } = grants;
    return withToken(grants, token.Type === 'management' ? Acl.management : this.options.compiled.ofPolicies(policies));
  }

  /**
   * Looks under each hash, and under the first one once more: a secret may be stored anew under the present key between
   * two reads.
   */
  private async grantsOf(secretHashes: readonly string[]): Promise<TokenGrants | undefined> {
    const [present, ...others] = secretHashes;
    for (const hash of others.length === 0 ? secretHashes : [...secretHashes, present ?? '']) {
      const grants = await this.options.source.grantsBySecretHash(hash);
      if (grants) return grants;
    }
    return undefined;
  }
}
