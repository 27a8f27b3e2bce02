import { describe, expect, it } from 'vitest';
import { type DynamicMeta, MAX_DYNAMIC_META_BYTES, NodeMeta } from './node-meta.js';

const CONFIGURED = { rack: 'r1', 'owner.team': 'ops' };

async function given(stored: DynamicMeta = {}) {
  const disk = { stored, fails: false };
  const store = {
    load: async () => disk.stored,
    save: async (dynamic: DynamicMeta) => {
      if (disk.fails) throw new Error('disk full');
      disk.stored = dynamic;
    },
  };
  return { disk, meta: await NodeMeta.load(CONFIGURED, store) };
}

describe('metadata of a machine', () => {
  it('AG-27: what is set while it runs counts over what is configured; null takes a key away', async () => {
    const { meta } = await given();
    const applied = await meta.apply({ rack: 'r2', gpu: 'yes', 'owner.team': null });
    expect(applied).toEqual({
      Meta: { rack: 'r2', gpu: 'yes' },
      Dynamic: { rack: 'r2', gpu: 'yes', 'owner.team': null },
      Static: CONFIGURED,
    });
    const forgotten = await meta.apply({ gpu: null, constructor: null });
    expect(Object.keys(forgotten.Dynamic)).toEqual(['rack', 'owner.team']);
  });

  it('AG-27: it is there after a restart of the agent', async () => {
    const before = await given();
    await before.meta.apply({ rack: 'r2', 'owner.team': null });
    const { meta } = await given(before.disk.stored);
    expect(meta.merged).toEqual({ rack: 'r2' });
  });

  it.each(['', 'a b', '1st', 'a..b', '.a', 'a.', 'ü'])('AG-332: %j is no key, and nothing changes', async (key) => {
    const { meta, disk } = await given();
    await expect(meta.apply({ [key]: 'x', fine: 'x' })).rejects.toThrow(`invalid metadata key: ${JSON.stringify(key)}`);
    expect([meta.merged, disk.stored]).toEqual([CONFIGURED, {}]);
  });

  it('what cannot be written does not count, and the next change goes on', async () => {
    const { meta, disk } = await given();
    disk.fails = true;
    await expect(meta.apply({ rack: 'r2' })).rejects.toThrow('disk full');
    expect(meta.merged).toEqual(CONFIGURED);
    disk.fails = false;
    expect((await meta.apply({ gpu: 'yes' })).Meta).toEqual({ ...CONFIGURED, gpu: 'yes' });
  });

  it('two changes at once are both there', async () => {
    const { meta } = await given();
    await Promise.all([meta.apply({ a: '1' }), meta.apply({ b: '2' })]);
    expect(meta.merged).toMatchObject({ a: '1', b: '2' });
  });

  it('has a limit', async () => {
    const { meta } = await given();
    await expect(meta.apply({ a: 'x'.repeat(MAX_DYNAMIC_META_BYTES) })).rejects.toThrow('larger than');
  });
});
