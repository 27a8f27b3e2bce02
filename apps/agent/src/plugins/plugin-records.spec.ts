import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { PluginRecord } from '@waybill/plugins';
import { expect, it } from 'vitest';
import { PluginRecords } from './plugin-records.store.js';

const record = (pid: number): PluginRecord => {
  return { network: 'unix', address: `/s${pid}`, process: { pid, startTicks: '1', bootId: 'b' }, dir: '/d' };
};

it('PG-71: plugins that start and end at the same time are all on disk', async () => {
  const dir = await mkdtemp(path.join(tmpdir(), 'waybill-records-'));
  try {
    const file = path.join(dir, 'running.json');
    const records = await PluginRecords.load(file);
    const names = Array.from({ length: 20 }, (_, n) => `plugin-${n}`);
    await Promise.all(names.map((name, n) => records.put(name, record(n))));
    expect((await PluginRecords.load(file)).all.map(({ name }) => name)).toEqual(names);
    await Promise.all(names.slice(1).map((name) => records.remove(name)));
    expect((await PluginRecords.load(file)).all).toEqual([{ ...record(0), name: 'plugin-0' }]);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
});
