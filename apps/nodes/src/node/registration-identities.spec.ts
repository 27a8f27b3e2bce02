import type { NodeClaims } from '@waybill/keyring';
import { FakeTime, type Node } from '@waybill/model';
import { LocalState } from '@waybill/replica';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { DEFAULT_PACE } from '../heartbeats/heartbeat-ttl.js';
import { NodeEvaluations } from './node-evaluations.js';
import { nodesWriter } from './nodes-writer.js';
import { Registration } from './registration.js';

/** Tokens here are `<node ID>.identity`; every other one is invalid. */
function setup() {
  const time = new FakeTime(1_800_000_000_500);
  const state = new LocalState(fixtures.aMachine());
  let ids = 0;
  const writer = nodesWriter(state, { clock: time, newId: () => `request-${ids++}`, region: 'global' });
  const signed: (NodeClaims | undefined)[] = [];
  const admitted: (string | undefined)[] = [];
  const signer = { keyId: 'key-1' as string | undefined };
  const registration = new Registration({
    state,
    writer,
    evaluations: new NodeEvaluations(state, writer),
    clock: time,
    random: () => 0,
    pace: DEFAULT_PACE,
    introductions: { admit: async (_, token) => void admitted.push(token) },
    identities: {
      forRegistration: async (_, held) => {
        signed.push(held);
        return signer.keyId === undefined ? undefined : { token: 'new identity', keyId: signer.keyId };
      },
    },
    identityCheck: {
      validClaims: async (token) => {
        const [nodeId = '', of] = token.split('.');
        return of === 'identity' ? { nodeId, pool: '', nodeClass: '', datacenter: '', expiresAtMs: 1 } : undefined;
      },
    },
  });
  const stored = (node: Node): Node => state.tables.nodes.get(node.ID)!;
  return { state, registration, signed, admitted, signer, stored };
}

const described = (over: Partial<Node> = {}): Node => fixtures.aNode({ Status: 'initializing', ...over });

describe('identities in registrations', () => {
  it('AU-192, AU-195: the answer has one, and the same transaction stores its key', async () => {
    const { registration, stored } = setup();
    const node = described();
    const answer = await registration.register({ Node: node, Identity: '' });
    expect(answer.SignedIdentity).toBe('new identity');
    expect(stored(node)).toMatchObject({ IdentitySigningKeyID: 'key-1', ModifyIndex: answer.Index });
  });

  it('AU-195: the stored key stays if none was made, whatever the machine says', async () => {
    const { registration, stored, signer } = setup();
    const node = described();
    await registration.register({ Node: node, Identity: '' });
    signer.keyId = undefined;
    const again = { ...node, IdentitySigningKeyID: 'any key of the cluster' };
    const answer = await registration.register({ Node: again, Identity: `${node.ID}.identity` });
    expect([stored(node).IdentitySigningKeyID, answer]).toEqual([
      'key-1',
      expect.not.objectContaining({ SignedIdentity: expect.anything() }),
    ]);
    const first = described({ IdentitySigningKeyID: 'any key of the cluster' });
    await registration.register({ Node: first });
    expect(stored(first).IdentitySigningKeyID).toBe('');
  });

  it('AU-192, AU-198: an expired identity or one of another node counts as none, and the right secret is enough', async () => {
    const { registration, signed } = setup();
    const node = described();
    for (const Identity of ['', `${node.ID}.expired`, 'other.identity', `${node.ID}.identity`])
      await registration.register({ Node: node, Identity });
    expect(signed).toEqual([undefined, undefined, undefined, expect.objectContaining({ nodeId: node.ID })]);
  });

  it('ND-30, AU-331: nothing is signed for a machine with a wrong secret', async () => {
    const { registration, signed } = setup();
    const node = described();
    await registration.register({ Node: node, Identity: '' });
    const thief = { ...node, SecretID: 'another' };
    for (const Identity of ['', `${node.ID}.identity`])
      await expect(registration.register({ Node: thief, Identity })).rejects.toMatchObject({ code: 'forbidden' });
    expect(signed).toHaveLength(1);
  });

  it('AU-203: the introduction token goes before the identity', async () => {
    const { registration, admitted } = setup();
    await registration.register({ Node: described(), IntroductionToken: 'token', Identity: 'identity' });
    await registration.register({ Node: described(), Identity: 'identity' });
    await registration.register({ Node: described() });
    expect(admitted).toEqual(['token', 'identity', undefined]);
  });

  it('AU-192: an agent that keeps no identities gets none', async () => {
    const { registration, signed } = setup();
    expect(await registration.register({ Node: described() })).not.toHaveProperty('SignedIdentity');
    expect(signed).toEqual([]);
  });

  it('ND-223: a registration that comes too late brings no identity, because its key is not stored', async () => {
    const { registration, stored } = setup();
    const node = described();
    await registration.register({ Node: node, After: 0 });
    const late = await registration.register({ Node: node, After: 0, Identity: '' });
    expect([late.IsOvertaken, late.SignedIdentity, stored(node).IdentitySigningKeyID]).toEqual([true, undefined, '']);
  });
});
