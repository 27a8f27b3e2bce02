import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadIdentity, lockDirectory } from './identity.store.js';

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
  it.skipIf(process.platform !== 'linux')('refuses a place where none can be made (needs /proc)', async () => {
    const text = 'cannot create /proc/nope: choose another directory with WAYBILL_AGENT_DIR';
    await expect(loadIdentity('/proc/nope', randomUUID)).rejects.toThrow(text);
    await expect(lockDirectory('/proc/nope')).rejects.toThrow(text);
  });

  it('AG-14: of one agent at a time; whoever comes meanwhile is told which', async () => {
    const unlock = await lockDirectory(root);
    await expect(lockDirectory(root)).rejects.toThrow(
      `the agent directory ${root} is in use by process ${process.pid}: give each agent its own WAYBILL_AGENT_DIR`,
    );
    await unlock();
    await (
      await lockDirectory(root)
    )();
  });
});
