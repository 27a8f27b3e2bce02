import { writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Timers } from '@waybill/model';
import { type Call, listPreviousDisk, type Rpc, RpcError, RpcUnavailableError } from '@waybill/rpc';
import { fixtures } from '@waybill/state';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AllocationDirectoryStore } from './allocation-directories.store.js';
import { AllocationFiles } from '../files/allocation-files.js';
import { incomingDisk } from './incoming-disk.store.js';
import { DiskNotMovedError, MAX_UNANSWERED, PREVIOUS_DISK_RETRY_MS, PreviousDisk } from './previous-disk.js';

const alloc = fixtures.anAlloc({ PreviousAllocation: 'before', CreateIndex: 7 });
const node = { ID: 'node', SecretID: 'secret' };
interface Asked {
  readonly Path: string;
  readonly After?: string;
  readonly Offset?: number;
}

describe('a disk from another machine', () => {
  let root: string;
  let there: AllocationDirectoryStore;
  let here: AllocationDirectoryStore;
  /** The pauses in order. None takes time. */
  let pauses: number[];
  let onPause: () => void;
  let onRead: () => Promise<void> | void;
  /** Whether tasks of the previous allocation run on their machine. */
  let lives: boolean;
  /** The failures of the next requests, in order. */
  let failures: Error[];
  let listed: { Name: string; IsDir: boolean; Size: number; FileMode: string; ModTime: string }[] | undefined;

  beforeEach(async () => {
    root = await mkdtemp(path.join(tmpdir(), 'waybill-disk-'));
    there = new AllocationDirectoryStore(path.join(root, 'there'));
    here = new AllocationDirectoryStore(path.join(root, 'here'));
    for (const task of ['web', 'log']) await there.build('before', task);
    [failures, listed, pauses, onPause, lives] = [[], undefined, [], () => {}, false];
    onRead = () => {};
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  const at = (file: string): string => path.join(there.directoryOf('before'), file);
  const found = (file: string): string => path.join(here.directoryOf(alloc.ID), file);

  /** The servers, which forward the files of the other machine. */
  const servers: Rpc = {
    async ask<Req, Res>(call: Call<Req, Res>, request: Req): Promise<Res> {
      const failure = failures.shift();
      if (failure) throw failure;
      expect(request).toMatchObject({ NodeID: 'node', SecretID: 'secret', AllocID: alloc.ID, MinStateIndex: 7 });
      const { Path, After = '', Offset = 0 } = request as Asked;
      const files = new AllocationFiles(there, () => lives);
      const file = { AllocID: 'before', Path };
      if (call.name !== listPreviousDisk.name) {
        const piece = await files.readPiece({
          ...file,
          IfEnded: true,
          Origin: 'start',
          Offset,
          Limit: 1_000,
          WaitMs: 0,
        });
        if (piece.Data === '') await onRead(); // the end of the file
        return piece as Res;
      }
      return (listed ? { Files: listed, More: false } : await files.list({ ...file, IfEnded: true, After })) as Res;
    },
  };
  const timers: Timers = {
    after: (ms, run) => {
      pauses.push(ms);
      onPause();
      const immediate = setImmediate(run);
      return () => clearImmediate(immediate);
    },
  };
  const fetch = (maxBytes = 1e6, isWanted = () => true): Promise<void> =>
    new PreviousDisk({
      rpc: servers,
      timers,
      identity: () => node,
      incoming: (id) => incomingDisk(here, id),
    }).fetchDisk(alloc, ['web', 'log', 'new'], maxBytes, isWanted);
  const nothingLeft = async (): Promise<void> =>
    expect(await readdir(here.directoryOf(alloc.ID)).catch(() => [])).toEqual([]);

  it('AG-224: shared data and what each task keeps, with modes; no links, no secrets', async () => {
    const large = 'x'.repeat(2_500);
    await mkdir(at('alloc/data/deep/er'), { recursive: true, mode: 0o750 });
    await writeFile(at('alloc/data/deep/er/large'), large, { mode: 0o640 });
    await writeFile(at('alloc/data/empty'), '');
    await writeFile(at('web/local/tool'), 'run', { mode: 0o755 });
    await writeFile(at('web/secrets/key'), 'no');
    await symlink('/etc/passwd', at('log/local/link'));
    await fetch();
    expect(await readFile(found('alloc/data/deep/er/large'), 'utf8')).toBe(large);
    expect((await stat(found('alloc/data/deep/er/large'))).mode & 0o777).toBe(0o640);
    expect(await readFile(found('alloc/data/empty'), 'utf8')).toBe('');
    expect((await stat(found('web/local/tool'))).mode & 0o777).toBe(0o755);
    expect(await readdir(found('log/local'))).toEqual([]);
    expect((await readdir(found('web'))).toSorted()).toEqual(['local']);
    expect((await readdir(found('.'))).toSorted()).toEqual(['alloc', 'log', 'new', 'web']);
  });

  it('AG-224: what an agent that was killed had of it is no obstacle', async () => {
    await writeFile(at('alloc/data/x'), 'whole');
    const broken = incomingDisk(here, alloc.ID);
    for (const dir of ['alloc/data', 'alloc/data/y']) await broken.directory(dir, 0o777);
    await (await broken.file('alloc/data/x', 0o644)).close();
    await fetch();
    expect(await readFile(found('alloc/data/x'), 'utf8')).toBe('whole');
    expect(await readdir(found('alloc/data'))).toEqual(['x']);
  });

  it('AG-53: it waits until the allocation before has ended', async () => {
    await writeFile(at('alloc/data/x'), 'x');
    failures = [new RpcError('conflict', 'not yet'), new RpcError('conflict', 'not yet')];
    await fetch();
    expect(pauses).toEqual([PREVIOUS_DISK_RETRY_MS, PREVIOUS_DISK_RETRY_MS]);
    expect(await readFile(found('alloc/data/x'), 'utf8')).toBe('x');
  });

  it('AG-53, OP-47: nor is it read while its tasks run, whatever the servers say', async () => {
    await writeFile(at('alloc/data/x'), 'half');
    lives = true;
    onPause = () => {
      if (pauses.length < 3) return;
      writeFileSync(at('alloc/data/x'), 'whole');
      lives = false;
    };
    await fetch();
    expect(pauses).toHaveLength(3);
    expect(await readFile(found('alloc/data/x'), 'utf8')).toBe('whole');
  });

  it('gives up when the allocation is not wanted any more', async () => {
    failures = [new RpcError('conflict', 'not yet')];
    let wanted = true;
    onPause = () => (wanted = false);
    await expect(fetch(1e6, () => wanted)).rejects.toBeInstanceOf(DiskNotMovedError);
    await nothingLeft();
  });

  it.each([0, 1])('bridges servers that are away for a while, not for ever (%i more)', async (more) => {
    const away = new RpcUnavailableError('x', 'no responder');
    failures = Array.from({ length: MAX_UNANSWERED - 1 + more }, () => away);
    expect(await fetch().catch((error: unknown) => error)).toBe(more === 0 ? undefined : away);
    expect(pauses).toHaveLength(MAX_UNANSWERED - 1);
  });

  it.each([
    ['its machine is gone', new RpcError('unavailable', 'gone')],
    ['this machine may not', new RpcError('forbidden', 'Permission denied')],
  ])('AG-224: nothing is left of a disk that cannot be had: %s', async (_why, failure) => {
    failures = [failure];
    await expect(fetch()).rejects.toBe(failure);
    await nothingLeft();
  });

  it('AG-224: a directory that is missing is told from an allocation that is gone, whatever the text says', async () => {
    const missing = new RpcError('not-found', 'nobody reads this');
    await writeFile(at('web/local/tool'), 'run');
    failures = [missing]; // no shared data
    await fetch();
    expect(await readFile(found('web/local/tool'), 'utf8')).toBe('run');
  });

  it('AG-224: nothing is left of a disk whose allocation is gone, or goes while it is copied', async () => {
    await writeFile(at('alloc/data/x'), 'x');
    failures = Array.from({ length: 4 }, () => new RpcError('not-found', 'open x: no such file or directory'));
    await expect(fetch()).rejects.toMatchObject({ code: 'not-found' });
    await nothingLeft();
    onRead = () => there.remove('before');
    await expect(fetch()).rejects.toMatchObject({ code: 'not-found' });
    await nothingLeft();
  });

  it('more than the disk may hold is not taken', async () => {
    await writeFile(at('alloc/data/x'), 'x'.repeat(1_001));
    await expect(fetch(1_000)).rejects.toThrow('it holds more than its 1000 bytes');
    await nothingLeft();
  });

  it.each(['..', '.', '', '../../x', 'a/b', 'a\0b'])('a name that leads elsewhere is refused: %j', async (Name) => {
    listed = [{ Name, IsDir: false, Size: 1, FileMode: '-rw-r--r--', ModTime: '' }];
    await expect(fetch()).rejects.toThrow('is no name of a file');
    await nothingLeft();
  });

  it('directories in one another without end are refused', async () => {
    listed = [{ Name: 'again', IsDir: true, Size: 1, FileMode: 'drwxr-xr-x', ModTime: '' }];
    await expect(fetch()).rejects.toThrow('deeper than 64');
    await nothingLeft();
  });
});
