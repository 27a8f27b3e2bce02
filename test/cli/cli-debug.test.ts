import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { list } from 'tar';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RecordedApi } from '../support/recorded-api.js';

const BIN = fileURLToPath(new URL('../../apps/cli/bin/waybill.js', import.meta.url));
const NODE = { ID: '5b6c1e2a-0000-4000-8000-000000000001', Name: 'worker', NodeClass: 'big' };
/** A member whose name leads out of the folder. */
const HOSTILE = '../../../escaped';

let api: RecordedApi;
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'waybill-cli-debug-'));
  api = await RecordedApi.start();
  for (const page of ['jobs', 'evaluations', 'allocations', 'deployments', 'volumes', 'plugins', 'services'])
    api.play(`GET /v1/${page}`, []);
  api.play('GET /v1/nodes', [NODE]);
  api.play('GET /v1/agent/members', { Members: [{ Name: HOSTILE, Addr: '10.0.0.1', Tags: { port: '4647' } }] });
  api.play('GET /v1/metrics', { Gauges: [{ Value: 9_007_199_254_740_993n.toString() }] });
  api.play('GET /v1/status/leader', JSON.stringify('10.0.0.1:4647'));
  api.play('GET /v1/agent/host', [403, 'Permission denied']);
  api.play('GET /v1/agent/monitor', (response: ServerResponse, { query }) => {
    if (query.get('node_id')) return void response.writeHead(404).end('No path to node');
    response.setHeader('Content-Type', 'application/json');
    response.write(JSON.stringify({ Data: Buffer.from('started\n').toString('base64') }));
  });
  api.play('GET /v1/event/stream', (response: ServerResponse) => {
    response.write('{"Index":7,"Events":[]}\n{}\n');
  });
});
afterEach(async () => {
  api.stop();
  await rm(folder, { recursive: true, force: true });
});

const json = async (...place: string[]): Promise<unknown> => JSON.parse(await readFile(path.join(...place), 'utf8'));

/** Every file below, from there. */
const filesIn = async (at: string): Promise<string[]> =>
  (await readdir(at, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(at, path.join(entry.parentPath, entry.name)))
    .toSorted();

describe('operator debug', () => {
  it('CL-807: captures pages, logs and events once, lists and figures at each interval', async () => {
    api.play('GET /v1/jobs', (response: ServerResponse, { query }) => {
      const first = query.get('next_token') === null;
      if (first) response.setHeader('X-Nomad-NextToken', 'more');
      response.end(JSON.stringify([{ ID: first ? 'a' : 'b' }]));
    });
    const words = ['-duration=400ms', '-interval=200ms', '-event-topic=Job,Node:*', '-event-index=5'];
    const { code, out, err } = await api.run(['operator', 'debug', ...words, `-output=${folder}`]);
    expect({ code, out }).toEqual({
      code: 0,
      out: expect.stringMatching(/^Created debug directory: .*Z\n$/) as string,
    });
    const made = out.slice('Created debug directory: '.length).trim();
    const files = await filesIn(made);
    for (const file of [
      ...['agent-self', 'cli-flags', 'eventstream', 'leader', 'members', 'namespaces', 'nodes', 'regions'].map(
        (name) => `cluster/${name}.json`,
      ),
      `client/${NODE.ID}/agent-host.json`,
      `client/${NODE.ID}/monitor.log`,
      'index.html',
      'index.json',
      'interval/0000/jobs.ndjson',
      'interval/0000/metrics.json',
      'interval/0001/allocations.json',
    ])
      expect(files).toContain(file);
    expect(files.filter((file) => file.startsWith('interval/0002'))).toEqual([]);
    expect(await readFile(path.join(made, 'interval/0000/jobs.ndjson'), 'utf8')).toBe('{"ID":"a"}\n{"ID":"b"}\n');
    expect(await readFile(path.join(made, 'cluster/eventstream.json'), 'utf8')).toContain('"Index":7');
    const events = api.seen.find(({ line }) => line === 'GET /v1/event/stream');
    expect(events?.query.getAll('topic')).toEqual(['Job', 'Node:*']);
    expect(events?.query.get('index')).toBe('5');
    const monitor = api.seen.find(({ line, query }) => line === 'GET /v1/agent/monitor' && query.has('server_id'));
    expect(monitor?.query.get('log_level')).toBe('TRACE');
    expect(err).toMatch(/ Servers: \(1\/1\) .*\n +Clients: \(1\/1\) worker\n +Interval: 200ms\n/);
    expect(err).toContain('Capturing interval 0001\n');
  });

  it('CL-807, CL-808: what cannot be had is noted in its file, and no name leads out of the folder', async () => {
    const { code, out, err } = await api.run(['operator', 'debug', '-duration=50ms', `-output=${folder}`]);
    expect(code).toBe(0);
    const made = out.slice('Created debug directory: '.length).trim();
    expect(await readdir(folder)).toEqual([path.basename(made)]);
    const [server = ''] = await readdir(path.join(made, 'server'));
    expect(server).toMatch(/^[\w.-]+$/);
    expect(await readFile(path.join(made, 'server', server, 'monitor.log'), 'utf8')).toBe('started\n');
    expect(await json(made, 'client', NODE.ID, 'monitor.log')).toEqual({
      Error: 'Unexpected response code: 404 (No path to node)',
    });
    expect(err).toContain(
      `not captured: client/${NODE.ID}/monitor.log (Unexpected response code: 404 (No path to node))`,
    );
    const index = (await json(made, 'index.json')) as { Files: { Path: string; Missing?: string }[] };
    expect(index.Files.find(({ Path }) => Path === `server/${server}/agent-host.json`)?.Missing).toContain('403');
    expect(index.Files.map(({ Path }) => Path)).toEqual(
      (await filesIn(made)).filter((file) => !file.startsWith('index.')),
    );
  });

  it('CL-128, CL-808: an archive in the current directory, early at Ctrl-C; secrets are not in it', async () => {
    const address = api.url.replace('://', '://ops:pass-word@');
    const child = spawn(
      process.execPath,
      [BIN, 'operator', 'debug', `-address=${address}`, '-token=se-cret', '-client-key=', '-duration=5m'],
      { cwd: folder, stdio: 'pipe' },
    );
    let [out, err] = ['', ''];
    child.stdout.on('data', (data) => (out += String(data)));
    child.stderr.on('data', (data) => {
      if (!err.includes('interval 0000') && `${err}${data}`.includes('interval 0000')) child.kill('SIGINT');
      err += String(data);
    });
    expect(await once(child, 'close')).toEqual([0, null]);
    const [file = ''] = await readdir(folder);
    expect(file).toMatch(/^waybill-debug-\d{4}-\d\d-\d\d-\d{6}Z\.tar\.gz$/);
    expect(out).toBe(`Created debug archive: ${file}\n`);
    expect(err).toContain('Interrupted');
    const text: Record<string, string> = {};
    await list({
      file: path.join(folder, file),
      onReadEntry: (entry) => {
        entry.on('data', (data) => (text[entry.path] = `${text[entry.path] ?? ''}${String(data)}`));
      },
    });
    const flags = JSON.parse(text[`${file.slice(0, -'.tar.gz'.length)}/cluster/cli-flags.json`] ?? '') as object;
    expect(flags).toMatchObject({ token: '<redacted>', duration: '5m0s' });
    expect(Object.values(text).join('\n')).not.toMatch(/se-cret|pass-word/);
    expect(Object.keys(text).filter((name) => name.includes('interval/0001'))).toEqual([]);
  });

  it('CL-808: an output that is there already, or cannot be written, ends it with 2, before anything is captured', async () => {
    const seconds = [0, 1, 2, 3].map((n) => new Date(Date.now() + n * 1000).toISOString().slice(0, 19));
    for (const second of seconds)
      await mkdir(path.join(folder, `waybill-debug-${second.replace('T', '-').replaceAll(':', '')}Z`));
    const taken = await api.run(['operator', 'debug', `-output=${folder}`]);
    expect(taken).toEqual({ code: 2, out: '', err: 'Output directory already exists\n' });
    expect(api.seen).toEqual([]);
    await writeFile(path.join(folder, 'no-folder'), '');
    const unwritable = await api.run(['operator', 'debug', `-output=${path.join(folder, 'no-folder')}`]);
    expect(unwritable).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringContaining('Error writing debug capture: ') as string,
    });
  });

  it('CL-807: flags that contradict themselves, and machines that are not there, are refused', async () => {
    for (const [words, message] of [
      [['-duration=1s', '-interval=2s'], '-interval 2s is above -duration 1s\n'],
      [['-max-nodes=-1'], '-max-nodes must not be below 0\n'],
      [['-node-id=ffff'], 'No node(s) with prefix or ID "ffff" found\n'],
      [['-server-id=other'], 'No server(s) with name or prefix "other" found\n'],
    ] as const)
      expect(await api.run(['operator', 'debug', ...words, `-output=${folder}`])).toEqual({
        code: 1,
        out: '',
        err: message,
      });
  });
});
