import {
  isSignedToken,
  keyIdOf,
  type NodeClaims,
  nodeClaimsOf,
  publicKeyOf,
  TokenRefusedError,
  verifiedClaims,
} from '@waybill/keyring';
import { type Clock, Refusal, type RootKey, type Timers } from '@waybill/model';
import type { ReplicatedState } from '@waybill/replica';
import type { KeyObject } from 'node:crypto';

/** The longest wait in milliseconds for a key that this copy of the state does not have yet (AU-174). */
export const KEY_WAIT_MS = 1_000;
/** The largest number of such waits at a time. Machines choose the key that a token names, so they could name any. */
export const MAX_KEY_WAITS = 20;

export interface NodeIdentityCheckDeps {
  readonly state: Pick<ReplicatedState, 'tables' | 'onApplied'>;
  readonly clock: Clock;
  readonly timers: Timers;
}

/**
 * NodeIdentityCheck verifies the signed identities of machines (AU-171, AU-191). It needs no wrapping key: the public
 * keys are in the copy of the state, so machines stay in the cluster while a key management service is away. A deleted
 * key verifies nothing from the moment that its deletion is applied here.
 * Limits: MAX_KEY_WAITS. Cost: one verified signature for each call, about 0.1 ms.
 */
export class NodeIdentityCheck {
  /** Parsed keys by their row. A row of a root key is never changed in place. */
  private readonly keys = new WeakMap<RootKey, KeyObject>();
  private waits = 0;

  constructor(private readonly deps: NodeIdentityCheckDeps) {}

  /**
   * Returns the claims of a node identity that is valid now. No caller learns why a token is refused (AU-174).
   * @throws Refusal forbidden
   */
  async claimsOf(token: string): Promise<NodeClaims> {
    const claims = await this.validClaims(token);
    if (!claims) throw new Refusal('forbidden', 'Permission denied');
    return claims;
  }

  /** Returns the claims of a node identity, or undefined if the token is expired, of another kind, or no token at all. */
  async validClaims(token: string): Promise<NodeClaims | undefined> {
    try {
      const row = await this.keyOf(token);
      if (!row) return undefined;
      return nodeClaimsOf(await verifiedClaims(this.publicKey(row), token, this.deps.clock.nowMs()));
    } catch (error) {
      if (error instanceof TokenRefusedError) return undefined;
      throw error;
    }
  }

  /**
   * Returns the secret of the node that the credential stands for. A secret stands for itself: whether it is the right
   * one is checked against the node of the request, as before. An identity stands for the secret of the node that it
   * names, so the identity of one machine proves nothing about another (AU-331).
   * @throws Refusal forbidden for an identity that is not valid, or whose node is not in the state
   */
  async secretFor(credential: string): Promise<string> {
    if (!isSignedToken(credential)) return credential;
    const { nodeId } = await this.claimsOf(credential);
    const secret = this.deps.state.tables.nodes.get(nodeId)?.SecretID;
    if (!secret) throw new Refusal('forbidden', 'Permission denied');
    return secret;
  }

  private publicKey(row: RootKey): KeyObject {
    const key = this.keys.get(row) ?? publicKeyOf(row);
    this.keys.set(row, key);
    return key;
  }

  /** Returns the key that the token names. This copy of the state may be behind the process that signed. */
  private async keyOf(token: string): Promise<RootKey | undefined> {
    const keyId = keyIdOf(token);
    const find = (): RootKey | undefined => this.deps.state.tables.root_keys.get(keyId);
    const found = find();
    if (found || this.waits >= MAX_KEY_WAITS) return found;
    this.waits++;
    try {
      await this.applied(() => find() !== undefined);
      return find();
    } finally {
      this.waits--;
    }
  }

  /** Resolves when the copy of the state satisfies the condition, or after KEY_WAIT_MS. */
  private applied(isSatisfied: () => boolean): Promise<void> {
    const { state, timers } = this.deps;
    return new Promise((resolve) => {
      const end = (): void => {
        unsubscribe();
        cancel();
        resolve();
      };
      const unsubscribe = state.onApplied(() => isSatisfied() && end());
      const cancel = timers.after(KEY_WAIT_MS, end);
    });
  }
}
