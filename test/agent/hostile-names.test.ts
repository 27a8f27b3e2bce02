import { execFile, execFileSync, spawnSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

/**
 * An agent as root with real directories, mounts, hooks and drivers, in a mount namespace of its own, and servers that give
 * it allocations whose names nobody has looked at. What came of it is looked at from outside: nothing beside the directories
 * of allocations was made, mounted, read or removed. Again with the same names: WAYBILL_HOSTILE_SEED.
 */

const PROGRAM = fileURLToPath(new URL('../../apps/agent/dist/fixtures/hostile-machine.store.js', import.meta.url));
const SEED = Number(process.env['WAYBILL_HOSTILE_SEED'] ?? Date.now() % 2 ** 31);
const ALLOCATIONS = 40;
/** On a busy machine each start takes its time. */
const TIMEOUT_MS = 240_000;
const OF_THE_AGENT = ['allocs', 'collect', 'runs', 'state', 'volume'];

const hasNamespaces =
  process.getuid?.() === 0 && spawnSync('unshare', ['--mount', '--propagation', 'private', 'true']).status === 0;

interface Outcome {
  readonly id: string;
  readonly tasks: readonly string[];
  readonly status: string;
  readonly description: string;
  readonly events: readonly string[];
}

/** Every file below a directory but those in its own `except`, with what it holds; links are not followed. */
function treeOf(root: string, except: readonly string[] = []): string[] {
  return readdirSync(root)
    .filter((name) => !except.includes(name))
    .flatMap((name) => {
      const file = path.join(root, name);
      const found = lstatSync(file);
      const entry = `${file} ${found.mode} ${found.uid} ${found.ino}`;
      if (found.isDirectory()) return [entry, ...treeOf(file)];
      return [found.isFile() ? `${entry} ${readFileSync(file, 'latin1')}` : entry];
    });
}

describe.skipIf(!hasNamespaces)(`names of seed ${SEED} on a machine (needs root and mount namespaces)`, () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'waybill-hostile-'));
  let before: string[];
  let outcomes: readonly Outcome[];
  let mounted: readonly string[];

  beforeAll(async () => {
    mkdirSync(path.join(dir, 'outside'));
    writeFileSync(path.join(dir, 'outside', 'key'), 'CANARY');
    const repository = path.join(dir, 'repository');
    mkdirSync(path.join(repository, 'private'), { recursive: true });
    symlinkSync(path.join(dir, 'outside'), path.join(repository, 'link'));
    symlinkSync(path.join(dir, 'outside', 'key'), path.join(repository, 'private', 'resolv.conf'));
    writeFileSync(path.join(repository, 'file'), 'fetched');
    for (const words of [
      ['init', '--quiet'],
      ['add', '.'],
      ['commit', '--quiet', '-m', 'x'],
    ])
      execFileSync('git', ['-C', repository, '-c', 'user.name=x', '-c', 'user.email=x@x', ...words], { stdio: 'pipe' });
    before = treeOf(dir, OF_THE_AGENT);
    const words = [
      '--mount',
      '--propagation',
      'private',
      process.execPath,
      PROGRAM,
      dir,
      String(SEED),
      String(ALLOCATIONS),
    ];
    const { stdout } = await promisify(execFile)('unshare', words, {
      maxBuffer: 64 << 20,
      cwd: path.join(dir, 'outside'),
    });
    ({ outcomes, mounted } = JSON.parse(stdout) as { outcomes: Outcome[]; mounted: string[] });
  }, TIMEOUT_MS);
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  const taken = (): Outcome[] =>
    outcomes.filter(({ description }) => !description.startsWith('Unable to add allocation'));

  it('AG-47: every allocation ends, the dangerous ones with the reason', () => {
    expect(outcomes.filter(({ status }) => status !== 'complete' && status !== 'failed')).toEqual([]);
    for (const { id, tasks, description } of outcomes)
      if (
        [id, ...tasks].some((name) => name === '..' || name.includes('/') || name.includes('\0') || name.includes('\n'))
      )
        expect(description, JSON.stringify([id, ...tasks])).toMatch(
          /^Unable to add allocation due to error: the (task|allocation)/,
        );
    expect(taken().some(({ status }) => status === 'complete')).toBe(true);
    expect(taken().length).toBeLessThan(outcomes.length);
  });

  it('nothing beside the directories of the allocations was made, changed or removed', () => {
    expect(treeOf(dir, OF_THE_AGENT)).toEqual(before);
    expect(readdirSync(path.join(dir, 'volume'))).toEqual([]);
    for (const place of ['/', tmpdir(), path.dirname(dir), dir, path.join(dir, 'allocs')])
      expect(existsSync(path.join(place, 'hit')), place).toBe(false);
    const ids = new Set(['victim', ...taken().map(({ id }) => id)]);
    for (const id of readdirSync(path.join(dir, 'allocs'))) expect(ids).toContain(id);
  });

  it('AG-223: nothing was mounted but secrets, each in its place', () => {
    const places = taken().flatMap(({ id, tasks }) =>
      tasks.map((task) => path.join(dir, 'allocs', id, task, 'secrets')),
    );
    const allowed = new Set([path.join(dir, 'allocs', 'victim', 'web', 'secrets'), ...places]);
    expect(mounted.filter((point) => !allowed.has(point))).toEqual([]);
  });

  it('no task has seen the secret of another, or of the machine', () => {
    const seen = treeOf(path.join(dir, 'allocs'));
    expect(seen.some((entry) => entry.includes('total '))).toBe(true); // they have looked around
    expect(seen.filter((entry) => entry.includes('CANARY'))).toEqual([]);
  });
});
