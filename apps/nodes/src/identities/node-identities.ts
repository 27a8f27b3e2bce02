import type { Keyring, NodeClaims } from '@waybill/keyring';
import { type Clock, pause, Refusal, TokenBucket, type Timers } from '@waybill/model';
import { activeRootKey, type Tables } from '@waybill/state';
import type { Logger } from '@waybill/telemetry';
import {
  heartbeatNeedsIdentity,
  type IdentifiedNode,
  type IdentityLife,
  identityTtlNs,
  nodeIdentityClaims,
  type NodeIdentityContext,
  registrationNeedsIdentity,
} from './node-identity-claims.js';

/** The longest time in ms that a signature may delay an answer to a machine (AU-144). */
export const MAX_SIGNING_MS = 1_000;
/** A heartbeat fails for want of a signature only if the machine's identity ends sooner than this, in ms (AU-196). */
export const SPARE_LIFE_MS = 600_000;
/** All machines meet the same failure at each heartbeat. */
const LOGGED_FAILURES = { perSecond: 1 / 60, burst: 1 } as const;

export interface NodeIdentitiesDependencies extends NodeIdentityContext {
  readonly state: { readonly tables: Pick<Tables, 'root_keys' | 'node_pools'> };
  readonly keyring: Pick<Keyring, 'isOn' | 'signJwt'>;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
}

export interface SignedNodeIdentity {
  readonly token: string;
  /** The root key that signed it. It stays in use as long as the node has it (AU-184). */
  readonly keyId: string;
}

/**
 * Signs identities of machines with the active root key (AU-192 to AU-196). Without a wrapping key there are none, and
 * machines prove themselves by their secret. Stateless: no token is kept. Limit: MAX_SIGNING_MS. Cost: about 0.4 ms for a
 * signature, once per machine in two thirds of the life of its identity.
 */
export class NodeIdentities {
  private readonly logged: TokenBucket;

  constructor(private readonly deps: NodeIdentitiesDependencies) {
    this.logged = new TokenBucket(deps.clock, LOGGED_FAILURES);
  }

  /**
   * Returns a new identity for a machine that registers, if it needs one. A failed signature leaves the machine with its
   * secret, which it has proven by the registration.
   */
  async forRegistration(node: IdentifiedNode, held: NodeClaims | undefined): Promise<SignedNodeIdentity | undefined> {
    if (!this.deps.keyring.isOn) return undefined;
    const life = this.lifeIn(node.NodePool);
    if (!registrationNeedsIdentity(node, held, life)) return undefined;
    return this.signed(node, life).catch((error: unknown) => this.report(error));
  }

  /**
   * Returns a new identity for a machine that sends a heartbeat, if it needs one. The next heartbeat tries again after a
   * failed signature. @throws the failure if the machine could not prove itself much longer (AU-196)
   */
  async forHeartbeat(
    node: IdentifiedNode,
    held: NodeClaims | undefined,
    isForced: boolean,
  ): Promise<SignedNodeIdentity | undefined> {
    if (!this.deps.keyring.isOn) return undefined;
    const life = this.lifeIn(node.NodePool);
    if (!heartbeatNeedsIdentity(held, isForced, life)) return undefined;
    return this.signed(node, life).catch((error: unknown) => {
      this.report(error);
      if (held && held.expiresAtMs < life.nowMs + SPARE_LIFE_MS) throw error;
      return undefined;
    });
  }

  private lifeIn(pool: string): IdentityLife {
    const { state, clock } = this.deps;
    return { ttlNs: identityTtlNs(state.tables.node_pools, pool), nowMs: clock.nowMs() };
  }

  /**
   * Returns undefined in a new cluster, whose broker has not made a root key yet.
   * @throws KeyringError; Refusal unavailable after MAX_SIGNING_MS
   */
  private async signed(node: IdentifiedNode, life: IdentityLife): Promise<SignedNodeIdentity | undefined> {
    const { state, keyring, timers } = this.deps;
    const key = activeRootKey(state.tables);
    if (!key) return undefined;
    const over = new AbortController();
    const signing = keyring.signJwt(key.KeyID, nodeIdentityClaims(node, life, this.deps));
    const late = pause(timers, MAX_SIGNING_MS, over.signal).then((): never => {
      throw new Refusal('unavailable', `no signature within ${MAX_SIGNING_MS} ms`);
    });
    try {
      return { token: await Promise.race([signing, late]), keyId: key.KeyID };
    } finally {
      over.abort();
    }
  }

  private report(error: unknown): undefined {
    if (this.logged.tryTake()) this.deps.logger.warn('a signed identity of a machine could not be made', { error });
  }
}
