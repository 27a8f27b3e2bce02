import { type Claims, newRootKey, AeadWrapper, Keyring } from '@waybill/keyring';
import { FakeTime, type RootKey, settle } from '@waybill/model';
import { LocalState } from '@waybill/replica';
import { draftTxn, fixtures, serviceActor } from '@waybill/state';
import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { MachineCredentialPipe } from './machine-credential.pipe.js';
import { KEY_WAIT_MS, MAX_KEY_WAITS, NodeIdentityCheck } from './node-identity-check.js';

const NOW_S = 1_800_000_000;
const wrapper = new AeadWrapper(randomBytes(32));
let key: RootKey;

beforeAll(async () => {
  const made = await newRootKey(wrapper, { KeyID: 'key-1', State: 'active', CreateTime: 1, PublishTime: 0 });
  key = { ...made, CreateIndex: 1, ModifyIndex: 1 };
});

/** A token of the key, whether the state has that or not. */
const signed = (over: Claims = {}): Promise<string> =>
  new Keyring({
    wrapper,
    keys: { find: () => key, active: () => key, all: () => [key] },
    nowMs: () => NOW_S * 1_000,
  }).signJwt(undefined, {
    aud: 'nomadproject.io',
    sub: 'node:global:gpu:n1:default',
    exp: NOW_S + 300,
    nomad_node_id: 'n1',
    nomad_node_pool: 'gpu',
    ...over,
  });

function setup({ hasKey = true } = {}) {
  const time = new FakeTime(NOW_S * 1_000);
  const state = new LocalState(fixtures.aMachine());
  if (hasKey) state.tables.root_keys.replace(key.KeyID, key);
  const secrets = { n1: 'secret-of-n1', n2: 'secret-of-n2' };
  for (const [ID, SecretID] of Object.entries(secrets))
    state.tables.nodes.replace(ID, fixtures.aNode({ ID, SecretID }));
  return { time, state, check: new NodeIdentityCheck({ state, clock: time, timers: time }) };
}

describe('the credential of a machine', () => {
  it('AU-191: an identity stands for the secret of the node that it names; a secret stands for itself', async () => {
    const { check } = setup();
    expect(await check.secretFor(await signed())).toBe('secret-of-n1');
    expect(await check.secretFor('any-secret')).toBe('any-secret');
    expect(await check.secretFor('')).toBe('');
  });

  it('AU-331: the identity of one machine in a request that names another is not the secret of that one', async () => {
    const { check } = setup();
    const request = { NodeID: 'n2', SecretID: await signed(), MinStateIndex: 7 };
    const seen = await new MachineCredentialPipe(check).transform(request);
    expect(seen).toEqual({ NodeID: 'n2', SecretID: 'secret-of-n1', MinStateIndex: 7 });
  });

  it('AU-198: an identity is refused from the minute after its end', async () => {
    const { check, time } = setup();
    const token = await signed();
    time.freeze(359_000);
    expect((await check.claimsOf(token)).expiresAtMs).toBe((NOW_S + 300) * 1_000);
    time.freeze(2_000);
    await expect(check.secretFor(token)).rejects.toMatchObject({ code: 'forbidden', message: 'Permission denied' });
  });

  it.each([
    ['a workload', { sub: 'global:default:web:app:main:default', nomad_node_id: undefined }],
    ['a workload whose job names a node', { sub: 'global:default:web:app:main:default' }],
    ['an introduction', { sub: 'node-introduction:global:gpu::default', nomad_node_id: undefined }],
    ['a node without an end', { exp: undefined }],
    ['a node that is not in the state', { nomad_node_id: 'n3' }],
  ] satisfies [string, Claims][])('AU-171, AU-191: the token of %s is no proof', async (_, claims) => {
    await expect(setup().check.secretFor(await signed(claims))).rejects.toMatchObject({ code: 'forbidden' });
  });

  it('AU-174: what is no token of this cluster is refused like any other', async () => {
    const { check } = setup();
    const [header, claims] = (await signed()).split('.');
    for (const token of ['.', 'a.b.c', `${header}.${claims}.`, `${header}.${claims}.AAAA`])
      await expect(check.secretFor(token)).rejects.toMatchObject({ code: 'forbidden' });
  });

  it('AU-184, AU-185: an identity is refused once its key is deleted', async () => {
    const { check, state, time } = setup();
    const token = await signed();
    await check.secretFor(token);
    state.tables.root_keys.replace(key.KeyID, undefined);
    const refused = expect(check.secretFor(token)).rejects.toMatchObject({ code: 'forbidden' });
    await time.pass(KEY_WAIT_MS);
    await refused;
  });
});

describe('a key that this copy of the state does not have yet', () => {
  it('AU-174: is waited for until it comes', async () => {
    const { check, state, time } = setup({ hasKey: false });
    const waiting = check.secretFor(await signed());
    await settle();
    await state.propose(
      draftTxn(
        'RootKeyUpsert',
        { Key: key, Rekey: false, MustExist: false },
        { timeNs: fixtures.timeNs, requestId: 'r1', actor: serviceActor('test') },
      ),
    );
    expect([await waiting, time.pending]).toEqual(['secret-of-n1', 0]);
  });

  it('AU-174: is waited for a second, by at most twenty', async () => {
    const { check, time } = setup({ hasKey: false });
    const token = await signed();
    let refused = 0;
    const all = Array.from({ length: MAX_KEY_WAITS + 1 }, () => check.secretFor(token).catch(() => refused++));
    await time.pass(KEY_WAIT_MS - 1);
    expect(refused).toBe(1);
    await time.pass(1);
    await Promise.all(all);
    expect(refused).toBe(MAX_KEY_WAITS + 1);
  });
});
