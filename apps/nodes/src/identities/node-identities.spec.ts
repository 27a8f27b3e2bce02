import { type Claims, KeyringError, type NodeClaims } from '@waybill/keyring';
import { FakeTime, settle } from '@waybill/model';
import { LocalState } from '@waybill/replica';
import { fixtures } from '@waybill/state';
import { silentLogger } from '@waybill/telemetry';
import { describe, expect, it } from 'vitest';
import { MAX_SIGNING_MS, NodeIdentities, SPARE_LIFE_MS } from './node-identities.js';

const NOW_MS = 1_800_000_000_000;
const node = fixtures.aNode({ ID: 'n1', NodePool: 'gpu', NodeClass: '', Datacenter: 'dc1' });
const held = (leftMs: number): NodeClaims => ({
  nodeId: 'n1',
  pool: 'gpu',
  nodeClass: '',
  datacenter: 'dc1',
  expiresAtMs: NOW_MS + leftMs,
});

type Sign = (keyId: string | undefined, claims: Claims) => Promise<string>;

function setup({ isOn = true, sign }: { isOn?: boolean; sign?: Sign } = {}) {
  const time = new FakeTime(NOW_MS);
  const state = new LocalState(fixtures.aMachine());
  const key = { ...fixtures.aRootKey({ KeyID: 'key-1', State: 'active' }), CreateIndex: 1, ModifyIndex: 1 };
  state.tables.root_keys.replace(key.KeyID, key);
  const warnings: string[] = [];
  const identities = new NodeIdentities({
    state,
    keyring: { isOn, signJwt: sign ?? (async (keyId, { exp }) => `${keyId} until ${exp}`) },
    clock: time,
    timers: time,
    logger: { ...silentLogger, warn: (text: string) => void warnings.push(text) },
    region: 'global',
    issuer: '',
    newId: () => 'fresh',
  });
  return { time, state, identities, warnings };
}

const failing: Sign = () => Promise.reject(new KeyringError('the key store is away'));

describe('identities of machines', () => {
  it('AU-192, AU-195: are signed by the active key, and the answer names it', async () => {
    const { identities, state } = setup();
    const signed = { token: `key-1 until ${NOW_MS / 1_000 + 86_400}`, keyId: 'key-1' };
    expect(await identities.forRegistration(node, undefined)).toEqual(signed);
    expect(await identities.forHeartbeat(node, undefined, false)).toEqual(signed);
    expect(await identities.forRegistration(node, held(80_000_000))).toBeUndefined();
    expect(await identities.forHeartbeat(node, held(80_000_000), false)).toBeUndefined();
    state.tables.node_pools.replace('gpu', fixtures.aNodePool({ NodeIdentityTTL: 60e9 }));
    expect((await identities.forHeartbeat(node, undefined, false))?.token).toBe(`key-1 until ${NOW_MS / 1_000 + 60}`);
  });

  it('there are none without a wrapping key, and nobody is warned', async () => {
    const { identities, warnings } = setup({ isOn: false });
    expect(await identities.forRegistration(node, undefined)).toBeUndefined();
    expect(await identities.forHeartbeat(node, undefined, true)).toBeUndefined();
    expect(warnings).toEqual([]);
  });

  it('AU-196: a failed signature fails no heartbeat with the secret or with an identity that lives 10 min longer', async () => {
    const { identities, warnings } = setup({ sign: failing });
    expect(await identities.forHeartbeat(node, undefined, false)).toBeUndefined();
    expect(await identities.forHeartbeat(node, held(SPARE_LIFE_MS), true)).toBeUndefined();
    await expect(identities.forHeartbeat(node, held(SPARE_LIFE_MS - 1), false)).rejects.toThrow('away');
    expect(SPARE_LIFE_MS).toBe(600_000);
    expect(warnings).toEqual(['a signed identity of a machine could not be made']);
  });

  it('AU-196: a failed signature fails no registration, whatever the machine has', async () => {
    const { identities } = setup({ sign: failing });
    expect(await identities.forRegistration(node, undefined)).toBeUndefined();
    expect(await identities.forRegistration(node, held(1))).toBeUndefined();
  });

  it('a new cluster has no root key for some seconds, and nobody is warned', async () => {
    const { identities, state, warnings } = setup();
    state.tables.root_keys.replace('key-1', undefined);
    expect(await identities.forRegistration(node, undefined)).toBeUndefined();
    expect(await identities.forHeartbeat(node, undefined, false)).toBeUndefined();
    expect(warnings).toEqual([]);
  });

  it('AU-144, AU-196: a signature is waited for no longer than a second', async () => {
    const { identities, time } = setup({ sign: () => new Promise(() => {}) });
    let answered: string | undefined;
    const failed = identities.forHeartbeat(node, held(1), false).catch((error: Error) => (answered = error.message));
    await time.pass(MAX_SIGNING_MS - 1);
    expect(answered).toBeUndefined();
    await time.pass(1);
    await failed;
    expect(answered).toBe('no signature within 1000 ms');
  });

  it('no timer remains after a signature', async () => {
    const { identities, time } = setup();
    await identities.forHeartbeat(node, undefined, false);
    await settle();
    expect(time.pending).toBe(0);
  });
});
