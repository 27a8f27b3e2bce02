import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AllocationDirectoryStore } from './allocation-directories.store.js';
import { aTask, FOREVER, setup } from '../../fixtures/running-allocation.js';

const STICKY = { Sticky: true, SizeMB: 10, Migrate: false };

describe('what an allocation inherits', () => {
  const inheriting = (EphemeralDisk: typeof STICKY, over = {}, inherit = async () => {}) => {
    const story: string[] = [];
    let end = (): void => {};
    const alloc = setup([aTask('web', FOREVER), aTask('log', FOREVER)], {
      group: { EphemeralDisk },
      alloc: { PreviousAllocation: 'before', ...over },
      predecessorsEnded: () => new Promise<void>((resolve) => (end = resolve)),
      directories: {
        inheritDisk: async (from, to, tasks) => {
          const states = Object.values(alloc.states()).join();
          story.push(`${from} ${to === alloc.alloc.ID} ${tasks.join()} ${states}`);
          await inherit();
        },
        remove: async () => void story.push('removed'),
      },
    });
    return { ...alloc, story, ended: () => end() };
  };

  it('AG-224: a sticky disk is moved once the one before has ended, before any task starts', async () => {
    const { time, runner, story, states, ended } = inheriting(STICKY);
    runner.runAllocation();
    await time.pass(10);
    expect(story).toEqual([]);
    ended();
    await time.pass(10);
    expect(story).toEqual(['before true web,log pending,pending']);
    expect(states()).toEqual({ web: 'running', log: 'running' });
  });

  it.each([
    ['a disk that is not sticky', { ...STICKY, Sticky: false }, {}],
    ['the first allocation', STICKY, { PreviousAllocation: '' }],
  ])('AG-224: %s inherits nothing', async (_what, disk, over) => {
    const { time, runner, story, states, ended } = inheriting(disk, over);
    runner.runAllocation();
    ended();
    await time.pass(10);
    expect([story, states()]).toEqual([[], { web: 'running', log: 'running' }]);
  });

  it('AG-224: what fails is no obstacle', async () => {
    const { time, runner, states, ended } = inheriting(STICKY, {}, () => Promise.reject(new Error('disk')));
    runner.runAllocation();
    ended();
    await time.pass(10);
    expect(states()).toEqual({ web: 'running', log: 'running' });
  });

  it('AG-224: an agent that ended while one waited has its disk brought by the next, once', async () => {
    const { time, runner, make, records, alloc, story, ended } = inheriting(STICKY);
    const saved = () => structuredClone(records.saved.get(alloc.ID)!);
    runner.runAllocation();
    await time.pass(10);
    const next = make(saved());
    next.runAllocation();
    ended();
    await time.pass(10);
    expect(story).toEqual(['before true web,log pending,pending']);
    const last = make(saved()); // its tasks have begun, so the existing data is theirs
    last.runAllocation();
    ended();
    await time.pass(10);
    expect(story).toHaveLength(1);
  });

  it('AG-223, AG-224: one that is removed while it waits inherits nothing', async () => {
    const { time, runner, story, ended } = inheriting(STICKY);
    runner.runAllocation();
    await time.pass(10);
    const destroyed = runner.destroy();
    await time.pass(10);
    ended();
    await time.pass(10);
    await destroyed;
    expect(story).toEqual(['removed']);
  });

  it('AG-223, AG-224: one that is removed while its disk is moved is removed after that', async () => {
    let moved = (): void => {};
    const { time, runner, story, ended } = inheriting(STICKY, {}, () => new Promise((resolve) => (moved = resolve)));
    runner.runAllocation();
    ended();
    await time.pass(10);
    const destroyed = runner.destroy();
    await time.pass(10);
    expect(story).toHaveLength(1);
    moved();
    await time.pass(10);
    await destroyed;
    expect(story.slice(1)).toEqual(['removed']);
  });
});

describe('a disk that is moved', () => {
  let root: string;
  let store: AllocationDirectoryStore;
  beforeEach(async () => {
    root = await mkdtemp(path.join(tmpdir(), 'waybill-sticky-'));
    store = new AllocationDirectoryStore(root);
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  const put = (alloc: string, file: string, text = file): Promise<void> =>
    writeFile(path.join(root, alloc, file), text);
  const read = (alloc: string, file: string) => readFile(path.join(root, alloc, file), 'utf8').catch(() => null);

  it('AG-224: the shared data and what each task keeps to itself, and nothing else', async () => {
    for (const task of ['web', 'log']) await store.build('one', task);
    for (const file of ['alloc/data/x', 'alloc/tmp/x', 'web/local/x', 'web/secrets/x', 'log/local/x'])
      await put('one', file);
    await store.inheritDisk('one', 'two', ['web', 'log', 'new']);
    await store.build('two', 'web');
    const found = await Promise.all(
      ['alloc/data/x', 'web/local/x', 'log/local/x', 'alloc/tmp/x', 'web/secrets/x'].map((file) => read('two', file)),
    );
    expect(found).toEqual(['alloc/data/x', 'web/local/x', 'log/local/x', null, null]);
    expect(await read('one', 'alloc/tmp/x')).toBe('alloc/tmp/x');
  });

  it('AG-224: what is there already stays, and what is not there is not missed', async () => {
    await store.build('one', 'web');
    await store.build('two', 'web');
    await put('one', 'alloc/data/x', 'old');
    await put('two', 'alloc/data/x', 'new');
    await store.inheritDisk('one', 'two', ['web']);
    expect(await read('two', 'alloc/data/x')).toBe('new');
    await store.inheritDisk('never', 'three', ['web']);
    expect(await store.exists('three')).toBe(false);
  });

  it('a link that a task has put there is not followed', async () => {
    await mkdir(path.join(root, 'one', 'alloc'), { recursive: true });
    await symlink('/etc', path.join(root, 'one', 'alloc', 'data'));
    await store.inheritDisk('one', 'two', []);
    expect(await read('two', 'alloc/data/passwd')).toBeNull();
  });
});
