import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { AllocationDirectoryStore } from './allocation-directories.store.js';
import { readMounts, unmountBelow } from './mount-table.store.js';
import { NoSecretsMemoryError, SecretsMemory } from './secrets-memory.store.js';

let root: string;
let memories: SecretsMemory[];
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'waybill secrets-'));
  memories = [];
});
afterEach(async () => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  for (const one of memories) one.close();
  await unmountBelow(root);
  rmSync(root, { recursive: true, force: true });
});

/** Returns undefined if this machine permits no mounts here; the machine's own test shows that. */
function found(): SecretsMemory | undefined {
  try {
    const memory = SecretsMemory.find(root);
    memories.push(memory);
    return memory;
  } catch (error) {
    if (error instanceof NoSecretsMemoryError) return undefined;
    throw error;
  }
}

const store = (secrets?: SecretsMemory) => new AllocationDirectoryStore(path.join(root, 'allocs'), secrets);
const mountedHere = async () =>
  (await readMounts()).filter(({ point }) => point.startsWith(root)).toSorted((a, b) => (a.point < b.point ? -1 : 1));

describe('secrets in memory', () => {
  it('AG-220: a file system of 1 MB for each task, which only it can read, made before it starts', async (context) => {
    const secrets = found();
    if (!secrets) return context.skip('this machine lets nobody mount here');
    const built = await Promise.all(['db', 'web'].map((task) => store(secrets).build('a', task)));
    expect(await mountedHere()).toMatchObject(
      built.map(({ secretsDir }) => ({
        device: 'waybill-secrets',
        type: 'tmpfs',
        options: expect.arrayContaining(['nosuid', 'nodev', 'noexec', 'size=1024k', 'mode=700']) as string[],
        point: secretsDir,
      })),
    );
    const [, web] = built;
    const file = path.join(web!.secretsDir, 'key');
    writeFileSync(file, 'x'.repeat(500_000));
    expect(() => writeFileSync(file, 'x'.repeat(2_000_000))).toThrow('ENOSPC');
    expect(statSync(web!.secretsDir).mode & 0o777).toBe(0o700);
  });

  it('AG-220: the next agent finds them as they are, and they go with the allocation', async (context) => {
    const secrets = found();
    if (!secrets) return context.skip('this machine lets nobody mount here');
    const { secretsDir } = await store(secrets).build('a', 'web');
    await store(secrets).build('a', 'empty');
    writeFileSync(path.join(secretsDir, 'key'), 'k');
    secrets.close();
    const next = store(found());
    for (const task of ['web', 'empty']) await next.build('a', task);
    expect([(await mountedHere()).length, readFileSync(path.join(secretsDir, 'key'), 'utf8')]).toEqual([2, 'k']);
    await next.remove('a');
    expect([await mountedHere(), readdirSync(path.join(root, 'allocs'))]).toEqual([[], []]);
  });

  it('AG-220: an agent that ends with its tasks leaves none; what was put there once is put there again', async (context) => {
    const secrets = found();
    if (!secrets) return context.skip('this machine lets nobody mount here');
    const { privateDir, secretsDir } = await store(secrets).build('a', 'web');
    for (const name of ['artifacts.done', 'other']) writeFileSync(path.join(privateDir, name), '');
    await store(secrets).close(true);
    expect(await mountedHere()).toEqual([]);
    await store(found()).build('a', 'web');
    expect([readdirSync(secretsDir), readdirSync(privateDir)]).toEqual([[], ['other']]);
  });

  it('what a task of an agent without one has already is left to it', async (context) => {
    const secrets = found();
    if (!secrets) return context.skip('this machine lets nobody mount here');
    const { secretsDir } = await store().build('a', 'web');
    writeFileSync(path.join(secretsDir, 'key'), 'k');
    await store(secrets).build('a', 'web');
    expect([await mountedHere(), existsSync(path.join(secretsDir, 'key'))]).toEqual([[], true]);
  });

  it('AG-220: an agent that is not root has a directory that nobody else can read, and says why', async () => {
    vi.spyOn(process as { getuid: () => number }, 'getuid').mockReturnValue(1_000);
    expect(() => SecretsMemory.find(root)).toThrow(new NoSecretsMemoryError('the agent does not run as root'));
    const { secretsDir } = await store().build('a', 'web');
    expect([await mountedHere(), statSync(secretsDir).mode & 0o777]).toEqual([[], 0o700]);
  });

  it('AG-220: a machine that lets nobody mount says why in one line', () => {
    const mount = path.join(root, 'mount');
    writeFileSync(mount, '#!/bin/sh\necho "mount: no" >&2; echo "  permission" >&2; exit 32\n', { mode: 0o755 });
    vi.stubEnv('PATH', root);
    vi.spyOn(process as { getuid: () => number }, 'getuid').mockReturnValue(0);
    expect(() => SecretsMemory.find(root)).toThrow(new NoSecretsMemoryError('mount: no permission'));
    vi.stubEnv('PATH', '/nowhere');
    expect(() => SecretsMemory.find(root)).toThrow(new NoSecretsMemoryError('spawnSync mount ENOENT'));
    expect(readdirSync(root)).toEqual(['mount']);
  });

  it('one that cannot be mounted is an error of the start, never a directory of the disk', async (context) => {
    const secrets = found();
    if (!secrets) return context.skip('this machine lets nobody mount here');
    vi.stubEnv('PATH', '/nowhere');
    await expect(store(secrets).build('a', 'web')).rejects.toThrow(/^no file system in memory for secrets: .*mount/);
  });
});
