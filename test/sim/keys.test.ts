import { randomUUID } from 'node:crypto';
import { AeadWrapper, Keyring, newRootKey } from '@waybill/keyring';
import { describe, expect, it } from 'vitest';
import { PORTION_TIMEOUT_MS } from './expect-no-failure.js';
import { KEY_ACTIONS } from './keys/key-actions.js';
import { CLUSTER_KEY } from './keys/keys-run.js';
import { dueOf, ruleKeys, type StoredKeys } from './keys/root-key-rules.js';
import { Vault } from './keys/vault.js';
import { SMALL_RUN } from './run-plan.js';
import { firstFailure } from './seeds.js';
import type { RunResult } from './simulation.js';
import { storyOf } from './story.js';
import { seededKeyPair } from './world/seeded-key-pairs.js';

/** Between them, everything happens in these. */
const SEEDS = [2, 3, 6, 12, 13, 15, 16, 18];

describe('variables, locks and root keys under faults', () => {
  /** Names of the answers, the steps of the keyring and the actions that occurred. */
  const seen = new Set<string>();
  const note = ({ acknowledged, judged }: RunResult): void => {
    for (const name of [...acknowledged.keys(), ...judged.keys()]) seen.add(name);
  };

  it(
    `OP-196 OP-198 OP-200 OP-201 OP-202 OP-204 OP-205 OP-206 OP-210 OP-212 OP-213 OP-214 AU-178 AU-183: no lock has two holders, no update is lost, and every variable can be read (seeds ${SEEDS.join(', ')})`,
    { timeout: PORTION_TIMEOUT_MS },
    async () => {
      const failed = await firstFailure(SEEDS, { ...SMALL_RUN, keys: true }, note);
      if (failed)
        expect.fail(`npm run sim -- --small --keys --seed ${failed.plan.seed}\n${storyOf(failed.plan, failed.result)}`);
    },
  );

  it('in these runs every kind of answer was judged, locks ended in every way, and the keyring took every step', () => {
    const answers = ['read 200', 'read 404', 'read 500', 'watched', 'set 200', 'set 409', 'cas 200', 'cas 409'];
    const locks = ['lock acquired', 'lock renewed', 'renewal refused', 'release 200', 'lock ended by the broker'];
    const steps = [
      'active by the broker',
      'active, full',
      'prepublished',
      'prepublished becomes active',
      'encrypted anew',
      'rekeying becomes inactive',
      'removed',
      'forced out',
      'restored',
    ];
    const wanted = [...answers, ...locks, ...steps, ...Object.keys(KEY_ACTIONS)];
    expect(wanted.filter((name) => !seen.has(name))).toEqual([]);
  });
});

describe('the judgement of the keyring', () => {
  it('OP-204, OP-210: decrypts what the product has encrypted, and only for its variable', async () => {
    const wrapper = new AeadWrapper(Buffer.from(CLUSTER_KEY, 'hex'));
    const said = { KeyID: randomUUID(), State: 'active', CreateTime: 1, PublishTime: 0 } as const;
    const row = { ...(await newRootKey(wrapper, said)), CreateIndex: 1, ModifyIndex: 1 };
    const keys = { find: () => row, active: () => row, all: () => [row] };
    const owner = { Namespace: 'default', Path: 'app/db' };
    const sealed = await new Keyring({ wrapper, keys, nowMs: () => 0 }).sealItems(owner, { password: 'x' });
    const vault = new Vault(CLUSTER_KEY);
    expect([vault.learn('another', row.Wrapped.Data), vault.learn(row.KeyID, row.Wrapped.Data)]).toEqual([false, true]);
    expect(vault.open(row.KeyID, 'default', 'app/db', sealed.Data)).toBe('{"password":"x"}');
    expect(vault.open(row.KeyID, 'default', 'app/mail', sealed.Data)).toBeUndefined();
  });

  it('OP-215: key pairs of runs have 2048 bits, and are the same in each', () => {
    const { privateKey, publicKey } = seededKeyPair(0);
    expect(privateKey.asymmetricKeyDetails).toMatchObject({ modulusLength: 2_048, publicExponent: 65_537n });
    expect(publicKey.export({ format: 'jwk' }).n?.slice(0, 12)).toBe('0scQNMBBgBFs');
  });

  const HOUR_NS = 3_600e9;
  const keysOf = (...all: readonly (readonly [id: string, state: string, ageHours: number, inHours?: number])[]) =>
    new Map(
      all.map(([id, state, ageHours, inHours = 0]) => {
        return [id, { id, state, createdNs: -ageHours * HOUR_NS, publishNs: inHours * HOUR_NS }];
      }),
    ) satisfies StoredKeys;
  const isUnused = (): boolean => false;

  it('GC-79 to GC-84, OP-214: knows which step the servers owe', () => {
    expect(dueOf(keysOf(['a', 'active', 1]), isUnused, 0)).toBeUndefined();
    expect(dueOf(new Map(), isUnused, 0)).toContain('0 active');
    expect(dueOf(keysOf(['a', 'active', 361]), isUnused, 0)).toContain('should be published');
    expect(dueOf(keysOf(['a', 'active', 361], ['b', 'prepublished', 1, 9]), isUnused, 0)).toBeUndefined();
    expect(dueOf(keysOf(['a', 'active', 1], ['b', 'prepublished', 1, -1]), isUnused, 0)).toContain(
      'b should be active',
    );
    expect(dueOf(keysOf(['a', 'active', 1], ['b', 'rekeying', 9]), isUnused, 0)).toContain('not encrypted anew');
    const old = keysOf(['a', 'active', 1], ['b', 'inactive', 722]);
    expect(dueOf(old, isUnused, 0)).toContain('b should be gone');
    expect(dueOf(old, () => true, 0)).toBeUndefined();
  });

  it('OP-213: refuses the deletion of the active key, and of one in use unless it is forced', () => {
    const keys = keysOf(['a', 'active', 1], ['b', 'inactive', 2]);
    const remove = (KeyID: string, Force: boolean, isUsed: boolean) =>
      ruleKeys(keys, { type: 'RootKeyDelete', payload: { KeyID, Force } } as never, () => isUsed)?.size;
    expect([remove('a', true, false), remove('b', false, true), remove('x', true, false)]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect([remove('b', false, false), remove('b', true, true)]).toEqual([1, 1]);
  });
});
