import { ROOT_KEY_COLLECTION_NS, ROOT_KEY_ROTATION_NS, type RootKey } from '@waybill/model';
import { MAX_REAPED_ROOT_KEYS } from '@waybill/rpc';
import { fixtures } from '@waybill/state';
import { beforeEach, expect, it } from 'vitest';
import { CollectingFixture, HOUR_MS } from './collecting.fixture.js';
import { DEFAULT_THRESHOLDS } from './thresholds.js';

const LIFE_MS = (ROOT_KEY_ROTATION_NS + ROOT_KEY_COLLECTION_NS) / 1e6;

let world: CollectingFixture;
beforeEach(() => {
  world = new CollectingFixture();
});

const put = (KeyID: string, State: RootKey['State'], ageMs: number): void => {
  const key = fixtures.aRootKey({ KeyID, State, CreateTime: world.ago(ageMs) });
  world.tables.root_keys.replace(KeyID, { ...key, CreateIndex: 1, ModifyIndex: 1 });
};
const left = (): string[] => [...world.tables.root_keys.all()].map(({ KeyID }) => KeyID).toSorted();

it('GC-80, GC-81, GC-85: a forced collection removes old inactive keys that nothing uses, by their usual age', async () => {
  put('active', 'active', 10 * LIFE_MS);
  put('prepublished', 'prepublished', 10 * LIFE_MS);
  put('rekeying', 'rekeying', 10 * LIFE_MS);
  put('young', 'inactive', LIFE_MS);
  put('used', 'inactive', LIFE_MS + HOUR_MS);
  put('b-gone', 'inactive', LIFE_MS + 1);
  put('a-gone', 'inactive', 10 * LIFE_MS);
  world.tables.nodes.replace('n', fixtures.aNode({ ID: 'n', Status: 'ready', IdentitySigningKeyID: 'used' }));
  await world.run('force-gc');
  expect(world.reaps).toContainEqual({ Kind: 'root-keys', KeyIDs: ['a-gone', 'b-gone'] });
  expect(left()).toEqual(['active', 'prepublished', 'rekeying', 'used', 'young']);
});

it('GC-85: a forced collection never rotates: an old active key and one whose time has come stay as they are', async () => {
  put('active', 'active', ROOT_KEY_ROTATION_NS / 1e6 + HOUR_MS);
  put('next', 'prepublished', HOUR_MS);
  const before = [...world.tables.root_keys.all()];
  await world.run('force-gc');
  expect([...world.tables.root_keys.all()]).toEqual(before);
  expect(world.reaps.filter(({ Kind }) => Kind === 'root-keys')).toEqual([]);
});

it('GC-85: the age follows the settings, and one run asks for a limited number', async () => {
  for (let n = 0; n < MAX_REAPED_ROOT_KEYS + 2; n++) put(`key-${n}`, 'inactive', 2 * HOUR_MS);
  const thresholds = { ...DEFAULT_THRESHOLDS, rootKeyNs: 3 * HOUR_MS * 1e6 };
  await world.run('force-gc', { thresholds });
  expect(left()).toHaveLength(MAX_REAPED_ROOT_KEYS + 2);
  await world.run('force-gc', { thresholds: { ...thresholds, rootKeyNs: HOUR_MS * 1e6 } });
  expect(left()).toHaveLength(2);
});
