import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DirectoryInUseError, loadIdentity, lockDirectory } from './identity.store.js';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'waybill-identity-'));
});
afterEach(() => rm(root, { recursive: true, force: true }));

describe('who a machine is', () => {
  it('AG-10, AG-28: made at random once and kept, whatever the machine: two directories of one are two', async () => {
    const first = await loadIdentity(path.join(root, 'a'), randomUUID);
    expect(await loadIdentity(path.join(root, 'a'), randomUUID)).toEqual(first);
    const other = await loadIdentity(path.join(root, 'b'), randomUUID);
    expect(new Set([first.nodeId, first.secretId, other.nodeId, other.secretId]).size).toBe(4);
    expect((await stat(path.join(root, 'a', 'secret-id'))).mode & 0o777).toBe(0o600);
  });

  it('AG-445: one whose identity was lost is another machine', async () => {
    const before = await loadIdentity(root, randomUUID);
    await rm(path.join(root, 'client-id'));
    expect((await loadIdentity(root, randomUUID)).nodeId).not.toBe(before.nodeId);
  });
});

describe('whose a directory is', () => {
  const gone = JSON.stringify({ pid: 2 ** 22 + 1, startTicks: '1', bootId: 'before' });

  it('AG-14: of many that come at once one gets it, also where a killed one has left its lock', async () => {
    for (const left of Array.from({ length: 25 }, () => [undefined, '', '{"pid":', gone]).flat()) {
      if (left !== undefined) await writeFile(path.join(root, 'agent.lock'), left);
      const locks = await Promise.allSettled(Array.from({ length: 8 }, () => lockDirectory(root)));
      const got = locks.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
      expect(got).toHaveLength(1);
      const refused = locks.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []));
      expect(refused.every((error) => error instanceof DirectoryInUseError)).toBe(true);
      await got[0]!();
      expect(await readdir(root)).toEqual([]);
    }
  });
});
