import { mkdir, mkdtemp, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { TaskConfig } from '../driver.js';
import { linkMounts } from './linked-mounts.js';

let root: string;
let taskDir: string;

beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'waybill-links-'));
  taskDir = path.join(root, 'alloc-1', 'web');
  await mkdir(taskDir, { recursive: true });
  await mkdir(path.join(root, 'volume'));
  await writeFile(path.join(root, 'volume', 'data'), 'kept');
});
afterEach(() => rm(root, { recursive: true, force: true }));

const mounting = (destination: string, source = path.join(root, 'volume')): Promise<void> =>
  linkMounts({
    taskId: 'a/web/1',
    allocId: 'a',
    task: 'web',
    user: '',
    config: {},
    env: {},
    mounts: [{ source, destination, readOnly: false, propagation: '' }],
    paths: { taskDir, allocDir: '', logsDir: '', localDir: '', secretsDir: '', privateDir: '' },
    logs: { MaxFiles: 1, MaxFileSizeMB: 1, Disabled: false },
  } satisfies TaskConfig);

describe('mounts of a task that sees the files of the machine', () => {
  it.each(['/srv/data', 'srv/data', '/data'])(
    '%s is a link in its directory, also when it starts again',
    async (at) => {
      await mounting(at);
      await mounting(at);
      expect(await readFile(path.join(taskDir, at, 'data'), 'utf8')).toBe('kept');
    },
  );

  it('AG-234: one at a path of the machine inside of the allocation is a link there', async () => {
    const shared = path.join(root, 'alloc-1', 'alloc', 'volume0');
    await mounting(shared);
    expect(await readFile(path.join(shared, 'data'), 'utf8')).toBe('kept');
  });

  it('one that leads elsewhere by now is led there', async () => {
    await mounting('/data', path.join(root, 'before'));
    await mounting('/data');
    expect(await readlink(path.join(taskDir, 'data'))).toBe(path.join(root, 'volume'));
  });

  it('removes nothing that is in the way, and makes nothing outside of the allocation', async () => {
    await mkdir(path.join(taskDir, 'data'));
    await expect(mounting('/data')).rejects.toThrow('/data of the task is taken');
    await symlink('/tmp', path.join(taskDir, 'out'));
    await expect(mounting('/out/x')).rejects.toThrow('escapes the alloc directory');
  });
});
