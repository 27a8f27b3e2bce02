import type { NodeClaims } from '@waybill/keyring';
import type { Node } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { permissionDenied } from '../node/node-access.js';
import { heartbeating } from './heartbeating.fixture.js';

/** Heartbeats whose machines get an identity of the given key whenever they may have one. */
function setup() {
  const calls: { held: NodeClaims | undefined; isForced: boolean }[] = [];
  const signer = { keyId: 'key-1' as string | undefined, ends: async () => {} };
  const beating = heartbeating(() => 0, {
    identities: {
      forHeartbeat: async (node, held, isForced) => {
        calls.push({ held, isForced });
        await signer.ends();
        return signer.keyId === undefined ? undefined : { token: `${node.ID} by ${signer.keyId}`, keyId: signer.keyId };
      },
    },
    identityCheck: {
      claimsOf: async (token) => {
        const [nodeId = '', of] = token.split('.');
        if (of !== 'identity') throw permissionDenied();
        return { nodeId, pool: '', nodeClass: '', datacenter: '', expiresAtMs: 1 };
      },
    },
  });
  const beat = (node: Node, SecretID: string, RenewIdentity?: boolean) =>
    beating.heartbeats.heartbeat({
      NodeID: node.ID,
      SecretID,
      Status: 'ready',
      ...(RenewIdentity !== undefined && { RenewIdentity }),
    });
  return { ...beating, calls, signer, beat };
}

describe('identities in heartbeats', () => {
  it('AU-192: an agent that keeps no identities gets none', async () => {
    const { add, take, beat, calls, stored } = setup();
    const node = add();
    take();
    const answer = await beat(node, node.SecretID);
    expect([answer, calls, stored(node).IdentitySigningKeyID]).toEqual([
      expect.not.objectContaining({ SignedIdentity: expect.anything() }),
      [],
      '',
    ]);
  });

  it('AU-195, ND-51: the key is stored once, by a status update that carries nothing else', async () => {
    const { add, take, beat, stored, signer } = setup();
    const node = add({ Status: 'ready' });
    take();
    const first = await beat(node, node.SecretID, false);
    expect(first).toMatchObject({ SignedIdentity: `${node.ID} by key-1`, NodeModifyIndex: first.Index, EvalIDs: [] });
    expect(first.Index).toBeGreaterThan(0);
    expect(stored(node)).toMatchObject({ IdentitySigningKeyID: 'key-1', Status: 'ready', ModifyIndex: first.Index });
    expect(await beat(node, `${node.ID}.identity`, true)).toMatchObject({
      SignedIdentity: expect.any(String),
      Index: 0,
    });
    signer.keyId = 'key-2';
    expect((await beat(node, `${node.ID}.identity`, true)).Index).toBe(first.Index + 1);
    signer.keyId = undefined;
    expect(await beat(node, `${node.ID}.identity`, false)).not.toHaveProperty('SignedIdentity');
    expect(stored(node).IdentitySigningKeyID).toBe('key-2');
  });

  it('AU-192: the signer hears how the machine proved itself, and whether the renewal is forced', async () => {
    const { add, take, beat, calls } = setup();
    const node = add();
    take();
    await beat(node, node.SecretID, false);
    await beat(node, `${node.ID}.identity`, true);
    expect(calls).toEqual([
      { held: undefined, isForced: false },
      { held: expect.objectContaining({ nodeId: node.ID }), isForced: true },
    ]);
  });

  it('AU-331, AU-198: the identity of another machine or an invalid one is refused, and nothing is signed', async () => {
    const { add, take, beat, calls, state } = setup();
    const [node, other] = [add(), add()];
    take();
    const before = state.appliedIndex;
    for (const credential of [`${other.ID}.identity`, `${node.ID}.expired`, other.SecretID])
      await expect(beat(node, credential, false)).rejects.toMatchObject({ code: 'forbidden' });
    expect([calls, state.appliedIndex]).toEqual([[], before]);
  });

  it('AU-192: the status update of a missed heartbeat signs nothing and keeps the key', async () => {
    const { add, take, calls, stored, time } = setup();
    const node = add({ Status: 'ready', IdentitySigningKeyID: 'key-0' });
    take();
    await time.pass(300_000);
    expect([stored(node).Status, stored(node).IdentitySigningKeyID, calls]).toEqual(['down', 'key-0', []]);
  });

  it('the answer follows the state after the signature, not the one before', async () => {
    const { add, take, beat, signer, state, heartbeats } = setup();
    const node = add();
    take();
    signer.ends = async () => void state.tables.nodes.replace(node.ID, undefined);
    await expect(beat(node, node.SecretID, false)).rejects.toThrow('node not found');
    state.tables.nodes.replace(node.ID, node);
    signer.ends = async () => heartbeats.stop();
    await expect(beat(node, node.SecretID, false)).rejects.toThrow('server is not leader');
  });
});
