import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LockHeldError, takeLock } from './lock-file.js';
import { identityOf } from './process-identity.js';

let root: string;
let file: string;
beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'waybill-lock-'));
  file = path.join(root, 'lock');
});
afterEach(() => rm(root, { recursive: true, force: true }));

describe('a lock', () => {
  const gone = JSON.stringify({ pid: 2 ** 22 + 1, startTicks: '1', bootId: 'before' });
  const reused = JSON.stringify({ ...identityOf(process.pid), startTicks: '1' });

  it('AG-14: of many that come at once one gets it, also where a killed one has left its own', async () => {
    for (const left of Array.from({ length: 25 }, () => [undefined, '', 'null', '{"pid":', gone, reused]).flat()) {
      if (left !== undefined) await writeFile(file, left);
      const locks = await Promise.allSettled(Array.from({ length: 8 }, () => takeLock(file)));
      const got = locks.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
      expect(got).toHaveLength(1);
      const refused = locks.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []));
      expect(refused.every((error) => error instanceof LockHeldError && error.pid === process.pid)).toBe(true);
      await got[0]!();
      expect(await readdir(root)).toEqual([]);
    }
  });

  it('is given back once: not a second time for whoever has it then', async () => {
    const giveBack = await takeLock(file);
    await giveBack();
    const next = await takeLock(file);
    await giveBack();
    expect(await readdir(root)).toEqual(['lock']);
    await next();
  });
});
