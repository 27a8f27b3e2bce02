import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { crc32, gzipSync } from 'node:zlib';
import { freePort } from '@waybill/embedded';
import type { Allocation, TaskArtifact, TaskState } from '@waybill/model';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiClient, shellJob } from '../support/api-client.js';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

/** What tasks are given before they start: artifacts from servers good and bad, and what their job was dispatched with. */

const dir = mkdtempSync(path.join(tmpdir(), 'waybill-artifacts-'));
const served = new Map<string, Buffer>();
const asked: { url: string; headers: IncomingHttpHeaders }[] = [];
let failures = 0;
let server: Server;
let base: string;
let closedPort: number;
let waybill: WaybillProcesses;
let api: ApiClient;

beforeAll(async () => {
  server = createServer((request, answer) => {
    const url = request.url ?? '';
    asked.push({ url, headers: request.headers });
    const body = served.get(url.split('?', 1)[0] ?? '');
    if (url.startsWith('/hangs')) return answer.writeHead(200).write('some');
    if (url.startsWith('/flaky') && failures-- > 0) return answer.writeHead(503).end();
    if (!body) return answer.writeHead(404).end();
    return answer.end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  closedPort = await freePort();
  waybill = await WaybillProcesses.startTogether({ WAYBILL_AGENT_ARTIFACT_FILES: 'true' }, undefined, ['agent']);
  api = waybill.api;
  await eventually('the node is ready', async () =>
    (await api.get<{ Status: string }[]>('/v1/nodes')).some((node) => node.Status === 'ready'),
  );
});
afterAll(async () => {
  await waybill?.stop();
  server?.closeAllConnections();
  server?.close();
  rmSync(dir, { recursive: true, force: true });
});

const artifact = (GetterSource: string, over: Partial<TaskArtifact> = {}): Partial<TaskArtifact> => ({
  GetterSource,
  ...over,
});
const once = { Attempts: 0, Interval: 1e9 * 60, Delay: 0, Mode: 'fail' };

/** Registers a job whose task has these artifacts, and waits until it runs or has failed. */
async function outcome(id: string, artifacts: object[], restart: object = once): Promise<[Allocation, TaskState]> {
  const job = shellJob(id, 'exec sleep 600', { restart }) as { TaskGroups: { Tasks: object[] }[] };
  Object.assign(job.TaskGroups[0]!.Tasks[0]!, { Artifacts: artifacts, Meta: { up: '../../..' } });
  await api.register(job);
  return eventually(`${id} runs or fails`, async () => {
    const [stub] = await api.get<Allocation[]>(`/v1/job/${id}/allocations`);
    if (stub?.ClientStatus !== 'running' && stub?.ClientStatus !== 'failed') return false;
    const alloc = await api.get<Allocation>(`/v1/allocation/${stub.ID}`);
    return [alloc, alloc.TaskStates['task']!] as [Allocation, TaskState];
  });
}

/** Contents of a file of the allocation. */
async function contents(alloc: Allocation, name: string): Promise<string> {
  const answer = await api.raw(`/v1/client/fs/cat/${alloc.ID}?path=${encodeURIComponent(name)}`);
  return answer.ok ? answer.text() : `${answer.status} ${await answer.text()}`;
}
const names = async (alloc: Allocation, name: string): Promise<string[]> =>
  (await api.get<{ Name: string }[]>(`/v1/client/fs/ls/${alloc.ID}?path=${name}`)).map((file) => file.Name);
const events = (state: TaskState): string[] => state.Events.map((event) => event.Type);
const failure = (state: TaskState): string =>
  state.Events.find((event) => event.Type === 'Failed Artifact Download')?.DisplayMessage ?? '';

/** A directory as tar writes it; names are taken as they are. */
function tarOf(make: (root: string) => void, ...words: string[]): Buffer {
  const root = mkdtempSync(path.join(dir, 'tar-'));
  make(root);
  return execFileSync('tar', ['-c', '-f', '-', '-C', root, ...words], { maxBuffer: 64e6 });
}

/** A zip archive of stored files, whatever their names. */
function zipOf(files: Record<string, string>): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const [name, text] of Object.entries(files)) {
    const data = Buffer.from(text);
    const facts = Buffer.alloc(26);
    facts.writeUInt16LE(20, 0);
    facts.writeUInt32LE(crc32(data), 10);
    facts.writeUInt32LE(data.length, 14);
    facts.writeUInt32LE(data.length, 18);
    facts.writeUInt16LE(name.length, 22);
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), facts, Buffer.from(name), data]);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(at, 10);
    directory.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\x00'), facts, rest, Buffer.from(name)]));
    parts.push(local);
    at += local.length;
  }
  const central = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(parts.length, 4);
  end.writeUInt16LE(parts.length, 6);
  end.writeUInt32LE(central.length, 8);
  end.writeUInt32LE(at, 12);
  return Buffer.concat([...parts, central, Buffer.from('PK\x05\x06'), end]);
}

describe('artifacts', () => {
  it('AG-290: a file, with headers and checksum, interpolated, under another name', async () => {
    served.set('/hello.txt', Buffer.from('hello'));
    const sum = createHash('sha256').update('hello').digest('hex');
    const [alloc, state] = await outcome('file', [
      artifact(`${base}/hello.txt`, {
        GetterOptions: { checksum: `sha256:${sum}` },
        GetterHeaders: { 'X-Who': '${NOMAD_JOB_ID}' },
      }),
      artifact(`${base}/hello.txt`, { GetterMode: 'file', RelativeDest: 'local/${NOMAD_TASK_NAME}/named' }),
      artifact(`${base}/hello.txt`, { RelativeDest: '../alloc/data' }),
    ]);
    expect(state.State).toBe('running');
    expect(events(state)).toEqual(['Received', 'Task Setup', 'Downloading Artifacts', 'Started']);
    expect(asked.find(({ headers }) => headers['x-who'] === 'file')).toBeDefined();
    for (const name of ['/task/local/hello.txt', '/task/local/task/named', '/alloc/data/hello.txt'])
      expect(await contents(alloc, name)).toBe('hello');
  });

  it('archives are unpacked, or a part of them, or kept as they are', async () => {
    const make = (root: string): void => {
      mkdirSync(path.join(root, 'a/b'), { recursive: true });
      writeFileSync(path.join(root, 'a/b/deep'), 'deep');
      writeFileSync(path.join(root, 'top'), 'top', { mode: 0o755 });
      symlinkSync('top', path.join(root, 'link'));
    };
    const tar = tarOf(make, '.');
    served.set('/x.tar', tar);
    served.set('/x.tar.gz', gzipSync(tar));
    served.set('/x.zip', zipOf({ 'z/one': '1', two: '2' }));
    const [alloc, state] = await outcome('archives', [
      artifact(`${base}/x.tar.gz`, { RelativeDest: 'local/whole' }),
      artifact(`${base}/x.tar//a`, { RelativeDest: 'local/part' }),
      artifact(`${base}/x.zip`, { RelativeDest: 'local/zip', GetterMode: 'dir' }),
      artifact(`${base}/x.tar?archive=false`, { RelativeDest: 'local/kept' }),
    ]);
    expect([state.State, failure(state)]).toEqual(['running', '']);
    expect(await contents(alloc, 'task/local/whole/a/b/deep')).toBe('deep');
    expect(await contents(alloc, 'task/local/whole/link')).toBe('top');
    expect(await contents(alloc, 'task/local/part/b/deep')).toBe('deep');
    expect([await contents(alloc, 'task/local/zip/z/one'), await contents(alloc, 'task/local/zip/two')]).toEqual([
      '1',
      '2',
    ]);
    expect(await names(alloc, 'task/local/kept')).toEqual(['x.tar']);
    const left = readdirSync(path.join(waybill.dir, 'agent/allocs', alloc.ID, 'task/private'));
    expect(left).toEqual(['artifacts.done']);
  });

  it('a version of a repository, and files of the machine where they are allowed', async () => {
    const repository = mkdtempSync(path.join(dir, 'repo-'));
    const git = (...words: string[]) =>
      execFileSync('git', ['-C', repository, '-c', 'user.name=t', '-c', 'user.email=t@t', ...words], {
        encoding: 'utf8',
      });
    git('init', '-q');
    for (const version of ['1', '2']) {
      writeFileSync(path.join(repository, 'version'), version);
      git('add', '.');
      git('commit', '-q', '-m', version);
      git('tag', `v${version}`);
    }
    const first = git('rev-parse', 'v1').trim();
    const [alloc, state] = await outcome('repository', [
      artifact(`git::file://${repository}`, { RelativeDest: 'local/newest' }),
      artifact(`git::file://${repository}?ref=v1`, { RelativeDest: 'local/tag' }),
      artifact(`git::file://${repository}`, { RelativeDest: 'local/commit', GetterOptions: { ref: first } }),
      artifact(path.join(repository, 'version'), { RelativeDest: 'local/machine' }),
    ]);
    expect([state.State, failure(state)]).toEqual(['running', '']);
    const versions = ['newest', 'tag', 'commit', 'machine'].map((name) =>
      contents(alloc, `task/local/${name}/version`),
    );
    expect(await Promise.all(versions)).toEqual(['2', '1', '1', '2']);
    expect(await names(alloc, 'task/local/newest')).toEqual(['version']);
  });

  it('AG-290: a server that is busy is asked again by the restart policy; what was fetched is not fetched again', async () => {
    served.set('/flaky', Buffer.from('at last'));
    failures = 2;
    const [alloc, state] = await outcome('flaky', [artifact(`${base}/flaky`)], { ...once, Attempts: 3 });
    expect([state.State, state.Restarts, state.Failed]).toEqual(['running', 2, false]);
    expect(failure(state)).toBe(`failed to download artifact "${base}/flaky": bad response code: 503`);
    expect(await contents(alloc, 'task/local/flaky')).toBe('at last');
    const before = asked.filter(({ url }) => url === '/flaky').length;
    const now = async (): Promise<TaskState> =>
      (await api.get<Allocation>(`/v1/allocation/${alloc.ID}`)).TaskStates['task']!;
    await api.raw(`/v1/client/allocation/${alloc.ID}/restart`, { method: 'PUT', body: '{}' });
    await eventually('it runs again', async () => {
      const { State, Restarts } = await now();
      return State === 'running' && Restarts === 3;
    });
    const { StartedAt } = await now();
    await waybill.kill('agent', 'SIGTERM'); // it stops its tasks
    await waybill.startService('agent');
    await eventually('the next agent has started it', async () => {
      const task = await now();
      return task.State === 'running' && task.StartedAt !== StartedAt;
    });
    expect(asked.filter(({ url }) => url === '/flaky')).toHaveLength(before);
  });

  it('a job that is stopped does not wait for a download that hangs', async () => {
    const job = shellJob('hanging', 'exec sleep 600', { restart: once }) as { TaskGroups: { Tasks: object[] }[] };
    Object.assign(job.TaskGroups[0]!.Tasks[0]!, { Artifacts: [artifact(`${base}/hangs`)] });
    await api.register(job);
    await eventually('it is being fetched', () => asked.some(({ url }) => url === '/hangs'));
    await api.stop('hanging');
    await eventually('it has ended', async () => {
      const [alloc] = await api.get<Allocation[]>('/v1/job/hanging/allocations');
      return alloc?.ClientStatus === 'complete' || alloc?.ClientStatus === 'failed';
    });
  });

  describe('what is refused', () => {
    const escaping = (root: string): void => writeFileSync(path.join(root, 'x'), 'x');
    it.each([
      ['missing', () => artifact(`${base}/none`), /bad response code: 404/],
      ['nobody there', () => artifact(`http://127.0.0.1:${closedPort}/x`), /ECONNREFUSED/],
      [
        'another checksum',
        () => artifact(`${base}/hello.txt`, { GetterOptions: { checksum: 'md5:' + '0'.repeat(32) } }),
        /checksums did not match/,
      ],
      [
        'a way out',
        () => artifact(`${base}/hello.txt`, { RelativeDest: 'local/${NOMAD_META_up}' }),
        /escapes the alloc directory/,
      ],
      ['a way out of a tar archive', () => artifact(`${base}/evil.tar`), /leads out of the archive/],
      ['a link out of a tar archive', () => artifact(`${base}/link.tar`), /leads out of the archive/],
      ['a pipe in a tar archive', () => artifact(`${base}/pipe.tar`), /is a FIFO/],
      [
        'a way out of a zip archive',
        () => artifact(`${base}/evil.zip`),
        /(invalid relative path|leads out of the archive)/,
      ],
      ['too many entries', () => artifact(`${base}/many.tar`), /more than 4096 entries/],
      ['an archive that is none', () => artifact(`${base}/hello.zip`), /failed to download artifact/],
      ['no URL', () => artifact('whatever'), /is no URL/],
    ])('%s', async (what, made, why) => {
      served.set('/hello.zip', Buffer.from('hello'));
      served.set('/evil.zip', zipOf({ '../evil': 'x' }));
      served.set('/evil.tar', tarOf(escaping, '--absolute-names', '--transform=s,x,../../../evil,', 'x'));
      served.set(
        '/link.tar',
        tarOf((root) => symlinkSync('/etc', path.join(root, 'etc')), '.'),
      );
      served.set(
        '/pipe.tar',
        tarOf((root) => execFileSync('mkfifo', [path.join(root, 'pipe')]), '.'),
      );
      if (!served.has('/many.tar'))
        served.set(
          '/many.tar',
          tarOf((root) => {
            for (let i = 0; i < 4_200; i++) writeFileSync(path.join(root, `f${i}`), '');
          }, '.'),
        );
      const [alloc, state] = await outcome(`refused-${what.replaceAll(' ', '-')}`, [made()]);
      expect([alloc.ClientStatus, state.Failed]).toEqual(['failed', true]);
      expect(failure(state)).toMatch(why);
      expect(await names(alloc, 'task/local')).toEqual([]);
    });

    it('a password in a source is not shown', async () => {
      const [, state] = await outcome('password', [artifact(`${base.replace('//', '//me:secret@')}/none`)]);
      expect(failure(state)).toBe(`failed to download artifact "${base}/none": bad response code: 404`);
      const authorization = `Basic ${Buffer.from('me:secret').toString('base64')}`;
      expect(asked.some(({ headers }) => headers.authorization === authorization)).toBe(true);
    });
  });
});

describe('dispatch payload', () => {
  it('AG-291: in the local directory before the first start', async () => {
    const job = shellJob('each', 'cat local/in/payload', { type: 'batch' }) as { TaskGroups: { Tasks: object[] }[] };
    Object.assign(job, { ParameterizedJob: { Payload: 'required' } });
    Object.assign(job.TaskGroups[0]!.Tasks[0]!, { DispatchPayload: { File: 'in/payload' } });
    await api.register(job);
    const Payload = Buffer.from('what to do\0\xff', 'latin1').toString('base64');
    const answer = await api.raw('/v1/job/each/dispatch', { method: 'PUT', body: JSON.stringify({ Payload }) });
    const { DispatchedJobID } = (await answer.json()) as { DispatchedJobID: string };
    const alloc = await eventually('it has run', async () => {
      const [one] = await api.get<Allocation[]>(`/v1/job/${encodeURIComponent(DispatchedJobID)}/allocations`);
      return one?.ClientStatus === 'complete' && one;
    });
    const file = await api.raw(`/v1/client/fs/cat/${alloc.ID}?path=task/local/in/payload`);
    expect(Buffer.from(await file.arrayBuffer()).toString('base64')).toBe(Payload);
    expect(
      readFileSync(path.join(waybill.dir, 'agent/allocs', alloc.ID, 'alloc/logs/task.stdout.0')).toString('base64'),
    ).toBe(Payload);
  });
});
