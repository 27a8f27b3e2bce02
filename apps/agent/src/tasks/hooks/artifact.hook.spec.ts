import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fixtures } from '@waybill/state';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ArtifactHook } from './artifact.hook.js';

describe('artifacts of a task', () => {
  let root: string;
  let asked: string[];
  /** The answers that are in progress. */
  let slow: ServerResponse[];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    if (request.url === '/missing') {
      const whenOthersAreUnderWay = setInterval(() => {
        if (slow.length === 0) return;
        clearInterval(whenOthersAreUnderWay);
        response.writeHead(404).end();
      }, 5);
      return;
    }
    response.writeHead(200).write('begin');
    slow.push(response);
  });

  beforeEach(async () => {
    [asked, slow] = [[], []];
    root = await mkdtemp(path.join(tmpdir(), 'waybill-artifacts-'));
    for (const name of ['local', 'private']) await mkdir(path.join(root, 'web', name), { recursive: true });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterEach(async () => {
    server.closeAllConnections();
    server.close();
    await rm(root, { recursive: true, force: true });
  });

  const prestart = (names: readonly string[], signal = new AbortController().signal): Promise<void> => {
    const { port } = server.address() as AddressInfo;
    const Artifacts = names.map((name) => ({
      GetterSource: `http://127.0.0.1:${port}/${name}`,
      GetterOptions: null,
      GetterHeaders: null,
      GetterMode: 'any',
      GetterInsecure: false,
      RelativeDest: 'local/',
      Chown: false,
    }));
    const taskDir = path.join(root, 'web');
    const paths = { taskDir, privateDir: path.join(taskDir, 'private') };
    const start = {
      task: fixtures.aTask({ Name: 'web', Artifacts }),
      config: { paths },
      interpolate: (text: string) => text,
      emit: () => {},
      signal,
    };
    return new ArtifactHook({ machineFiles: false }).prestart(start);
  };
  const files = (name: string) => readdir(path.join(root, 'web', name));

  it('AG-290: when one cannot be had, the others are let go before the start fails, and none comes later', async () => {
    const failed = await prestart(['slow', 'missing', 'slow2', 'never']).catch((error: unknown) => error);
    expect(String(failed)).toContain('bad response code: 404');
    expect(asked).not.toContain('/never');
    expect(await files('private')).toEqual([]);
    for (const response of slow) response.end('end');
    expect(await files('local')).toEqual([]);
  });

  it('what an agent that was killed has left under way is removed', async () => {
    await mkdir(path.join(root, 'web', 'private', 'artifact-old', 'tree'), { recursive: true });
    const kill = new AbortController();
    const failed = prestart(['slow'], kill.signal).catch((error: unknown) => error);
    while (slow.length < 1) await new Promise(setImmediate);
    expect(await files('private')).toHaveLength(1);
    kill.abort();
    await failed;
    expect(await files('private')).toEqual([]);
  });

  it('AG-223, AG-410: a kill is through when nothing is written any more', async () => {
    const kill = new AbortController();
    const failed = prestart(['slow', 'slow2'], kill.signal).catch((error: unknown) => error);
    while (slow.length < 2) await new Promise(setImmediate);
    kill.abort();
    await failed;
    expect(await files('private')).toEqual([]);
  });
});

describe('artifacts that lead out of the allocation', () => {
  let dir: string;

  beforeEach(async () => {
    dir = await mkdtemp(path.join(tmpdir(), 'waybill-artifact-links-'));
    for (const name of ['web/local', 'web/private', 'outside']) await mkdir(path.join(dir, name), { recursive: true });
    await writeFile(path.join(dir, 'outside', 'key'), 'secret');
    const repository = path.join(dir, 'repository');
    await mkdir(path.join(repository, 'private'), { recursive: true });
    await symlink(path.join(dir, 'outside'), path.join(repository, 'link'));
    await symlink(path.join(dir, 'outside', 'key'), path.join(repository, 'private', 'resolv.conf'));
    const git = (...words: string[]) => execFileSync('git', ['-C', repository, ...words], { stdio: 'pipe' });
    git('init', '--quiet');
    git('add', '.');
    git('-c', 'user.name=x', '-c', 'user.email=x@x', 'commit', '--quiet', '-m', 'x');
  });
  afterEach(() => rm(dir, { recursive: true, force: true }));

  async function failureOf(subdirectory: string, RelativeDest: string): Promise<string> {
    const artifact = {
      GetterSource: `git::file://${dir}/repository${subdirectory}`,
      GetterOptions: null,
      GetterHeaders: null,
      GetterMode: 'any',
      GetterInsecure: false,
      RelativeDest,
      Chown: false,
    };
    const start = {
      task: fixtures.aTask({ Name: 'web', Artifacts: [artifact] }),
      config: { paths: { taskDir: path.join(dir, 'web'), privateDir: path.join(dir, 'web', 'private') } },
      interpolate: (text: string) => text,
      emit: () => {},
      signal: new AbortController().signal,
    };
    return new ArtifactHook({ machineFiles: true }).prestart(start).then(
      () => '',
      (error: unknown) => String(error),
    );
  }

  it.each(['//link', '//link/key', '//../outside'])(
    'a repository has no way to files of the machine: %s',
    async (subdirectory) => {
      expect(await failureOf(subdirectory, 'local/')).not.toBe('');
      expect(await readdir(path.join(dir, 'web', 'local'))).toEqual([]);
    },
  );

  it.each(['.', 'private', '../web'])(
    'AG-220: nothing is put among the notes of the agent by way of %j',
    async (to) => {
      expect(await failureOf('', to)).toContain('escapes the alloc directory');
      expect(await readdir(path.join(dir, 'web', 'private'))).toEqual([]);
    },
  );

  it('a link that a repository holds is given to the task as it is', async () => {
    expect(await failureOf('', 'local/r')).toBe('');
    expect(await readlink(path.join(dir, 'web', 'local', 'r', 'link'))).toBe(path.join(dir, 'outside'));
  });
});
