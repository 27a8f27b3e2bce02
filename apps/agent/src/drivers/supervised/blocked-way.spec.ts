import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { blockedWay } from './blocked-way.store.js';

const OTHER = { uid: 65_534, gid: 65_534 };
const SELF = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'waybill-way-'));
  await mkdir(path.join(dir, 'allocs/task'), { recursive: true });
});
afterEach(() => rm(dir, { recursive: true, force: true }));

it('AG-274: names the directory that keeps a user from the directory of the task, and what to do', async () => {
  const target = path.join(dir, 'allocs/task');
  expect(await blockedWay(target, OTHER)).toBe(
    `the user with id 65534 may not enter ${dir} (mode 700), which leads to the directory of the task: ` +
      `allow it with "chmod o+x ${dir}"`,
  );
  await chmod(dir, 0o711);
  expect(await blockedWay(target, OTHER)).toBeUndefined();
  await chmod(path.join(dir, 'allocs'), 0o750);
  expect(await blockedWay(target, OTHER)).toContain(`${dir}/allocs (mode 750)`);
  expect(await blockedWay(target, { uid: OTHER.uid, gid: SELF.gid })).toBeUndefined();
  expect(await blockedWay(target, SELF)).toBeUndefined();
});

it('says nothing of a directory that is not there', async () => {
  await chmod(dir, 0o711);
  expect(await blockedWay(path.join(dir, 'gone/task'), OTHER)).toBeUndefined();
});
