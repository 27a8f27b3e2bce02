import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Allocation } from '@waybill/model';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiClient, shellJob } from '../support/api-client.js';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

/** Files of an allocation from outside, while a task does to them what it likes. */

const MADE = [
  'mkdir -p local/sub; printf "hello files" > local/text; printf "<html>" > local/page.html',
  'head -c 700000 /dev/zero > local/zeros; printf "\\000\\001" > local/binary; mkfifo local/pipe; : > local/empty',
  'ln -s /etc/passwd local/out; ln -s ../secrets local/inner; ln -s text local/link; printf s > secrets/key',
  'printf p > private/key; i=0; while [ $i -lt 2500 ]; do : > local/sub/f$i; i=$((i+1)); done',
  'chmod 640 local/text; printf done > local/made',
].join('\n');

const CLI = fileURLToPath(new URL('../../apps/cli/bin/waybill.js', import.meta.url));

let waybill: WaybillProcesses;
let api: ApiClient;
let alloc: string;

/** Registers a job of one task and waits until its script has come to the end of its first part. */
async function running(id: string, script: string): Promise<string> {
  await api.register(shellJob(id, `${script}\nexec sleep 600`));
  return eventually(`${id} runs`, async () => {
    const [first] = await api.get<Allocation[]>(`/v1/job/${id}/allocations`);
    if (!first) return false;
    const made = await api.raw(`/v1/client/fs/cat/${first.ID}?path=/task/local/made`);
    return made.ok && (await made.text()) === 'done' && first.ID;
  });
}

beforeAll(async () => {
  waybill = await WaybillProcesses.startTogether();
  api = waybill.api;
  alloc = await running('files', MADE);
});
afterAll(() => waybill?.stop());

const url = (what: string, path: string, more = '', id = alloc) =>
  `/v1/client/fs/${what}/${id}?path=${encodeURIComponent(path)}${more}`;
const answerOf = async (path: string): Promise<[number, string]> => {
  const answer = await api.raw(path);
  return [answer.status, await answer.text()];
};
const inTask = (name: string): string => `/task/local/${name}`;

interface Frame {
  Offset?: number;
  Data?: string;
  File?: string;
  FileEvent?: string;
}
const textOf = (frames: Frame[]): string =>
  frames.map(({ Data }) => Buffer.from(Data ?? '', 'base64').toString()).join('');

/** Frames as they come, which have no separator between them. */
async function follow(path: string): Promise<{ frames: Frame[]; ended: () => boolean; leave: () => void }> {
  const sent = httpRequest(`${api.url}${path}`).end();
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  const frames: Frame[] = [];
  let rest = '';
  let ended = false;
  answer.on('data', (chunk: Buffer) => {
    rest += chunk.toString();
    for (let at = rest.indexOf('}'); at >= 0; at = rest.indexOf('}')) {
      frames.push(JSON.parse(rest.slice(0, at + 1)) as Frame);
      rest = rest.slice(at + 1);
    }
  });
  answer.on('end', () => (ended = true));
  answer.on('error', () => {});
  return { frames, ended: () => ended, leave: () => sent.destroy() };
}

describe('directories and single files', () => {
  it('AG-220: what an allocation is made of', async () => {
    const names = async (path: string) => (await api.get<{ Name: string }[]>(url('ls', path))).map((f) => f.Name);
    expect(await names('/')).toEqual(['alloc', 'task']);
    expect(await names('')).toEqual(['alloc', 'task']);
    expect(await names('/alloc')).toEqual(['data', 'logs', 'tmp']);
    expect(await names('/task')).toEqual(['local', 'private', 'secrets', 'tmp']);
  });

  it('a directory of any size, by name', async () => {
    const files = await api.get<{ Name: string }[]>(url('ls', inTask('sub')));
    expect(files).toHaveLength(2_500);
    expect(files.map((f) => f.Name)).toEqual(Array.from({ length: 2_500 }, (_, i) => `f${i}`).toSorted());
  });

  it('what it hands on is a tar, without links and secrets', async () => {
    const answer = await api.raw(`/v1/client/allocation/${alloc}/snapshot`);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/x-tar']);
    const input = Buffer.from(await answer.arrayBuffer());
    const tar = (...args: string[]) => spawnSync('tar', args, { input, encoding: 'utf8', maxBuffer: 4_000_000 });
    const listed = tar('-tf', '-');
    expect([listed.status, listed.stderr]).toEqual([0, '']);
    const names = listed.stdout.trimEnd().split('\n');
    expect(names.filter((name) => !name.startsWith('task/local/sub/'))).toEqual([
      'alloc/data/',
      'task/local/',
      ...['binary', 'empty', 'made', 'page.html', 'text', 'zeros'].map((name) => `task/local/${name}`),
    ]);
    expect(names.filter((name) => name.startsWith('task/local/sub/f'))).toHaveLength(2_500);
    expect(tar('-xOf', '-', 'task/local/text').stdout).toBe('hello files');
    expect(tar('-xOf', '-', 'task/local/zeros').stdout).toHaveLength(700_000);
    const unknown = '00000000-0000-4000-8000-000000000000';
    const [status, text] = await answerOf(`/v1/client/allocation/${unknown}/snapshot`);
    expect([status, text]).toEqual([404, `Unknown allocation "${unknown}"`]);
  });

  it('what is told of a file', async () => {
    const ModTime: unknown = expect.stringMatching(/^\d{4}-\d\d-\d\dT/);
    expect(await api.get(url('stat', inTask('text')))).toEqual({
      Name: 'text',
      IsDir: false,
      Size: 11,
      FileMode: '-rw-r-----',
      ModTime,
      ContentType: 'text/plain; charset=utf-8',
    });
    expect(await api.get(url('stat', inTask('binary')))).toMatchObject({ ContentType: 'application/octet-stream' });
    const directory = await api.get<object>(url('stat', inTask('sub')));
    expect(directory).toMatchObject({ Name: 'sub', IsDir: true, FileMode: expect.stringMatching(/^d/) as unknown });
    expect(directory).not.toHaveProperty('ContentType');
  });
});

describe('bytes', () => {
  it('AG-304, API-79: whole files, and never as a page that a browser would run', async () => {
    expect(await answerOf(url('cat', inTask('text')))).toEqual([200, 'hello files']);
    expect(await answerOf(url('cat', inTask('link')))).toEqual([200, 'hello files']);
    expect(await answerOf(url('cat', inTask('empty')))).toEqual([200, '']);
    const page = await api.raw(url('cat', inTask('page.html')));
    expect(page.headers.get('content-type')).toMatch(/^text\/plain/);
    expect(page.headers.get('x-content-type-options')).toBe('nosniff');
    const zeros = await api.raw(url('cat', inTask('zeros')));
    expect(Buffer.from(await zeros.arrayBuffer()).equals(Buffer.alloc(700_000))).toBe(true);
  });

  it('a part of a file', async () => {
    expect(await answerOf(url('readat', inTask('text'), '&offset=6&limit=3'))).toEqual([200, 'fil']);
    for (const limit of ['', '&limit=0', '&limit=-1', '&limit=999'])
      expect(await answerOf(url('readat', inTask('text'), `&offset=6${limit}`))).toEqual([200, 'files']);
    expect(await answerOf(url('readat', inTask('text'), '&offset=99'))).toEqual([200, '']);
  });

  it('API-78, AG-305, AG-308, AG-310: frames of at most 64 KiB, from either end', async () => {
    const { frames, ended } = await follow(url('stream', inTask('zeros'), '&follow=false'));
    await eventually('it ends', ended);
    expect(textOf(frames)).toHaveLength(700_000);
    const offsets = frames.flatMap(({ Offset, Data }) => (Data ? [Offset ?? 0] : []));
    expect(offsets).toEqual(offsets.toSorted((a, b) => a - b));
    expect(new Set(offsets).size).toBe(offsets.length);
    expect(Math.max(...frames.map((f) => Buffer.from(f.Data ?? '', 'base64').length))).toBeLessThanOrEqual(65_536);
    for (const [origin, offset, expected] of [
      ['start', 6, 'files'],
      ['end', 5, 'files'],
      ['end', 99, 'hello files'],
    ] as const) {
      const part = await follow(url('stream', inTask('text'), `&follow=false&origin=${origin}&offset=${offset}`));
      await eventually('it ends', part.ended);
      expect(textOf(part.frames)).toBe(expected);
      expect(part.frames[0]?.File).toBe(inTask('text'));
    }
  });
});

describe('following', () => {
  it('API-78, AG-306, AG-307: what is appended, heartbeats between, a file that begins anew, one that is deleted', async () => {
    const id = await running(
      'growing',
      'step() { while [ ! -e local/$1 ]; do sleep 0.05; done; }\n' +
        'printf one > local/f; printf done > local/made\n' +
        '(step go; printf two >> local/f; sleep 2; printf 3 > local/f; sleep 1; rm local/f) &\n' +
        'sleep 3; : > local/go',
    );
    const { frames, ended } = await follow(url('stream', inTask('f'), '', id));
    await eventually('the file is deleted', () => frames.some((f) => f.FileEvent === 'file deleted'));
    await eventually('and with it the stream ends', ended);
    const truncated = frames.findIndex((f) => f.FileEvent === 'file truncated');
    expect(textOf(frames.slice(0, truncated))).toBe('onetwo');
    expect(textOf(frames.slice(truncated))).toBe('3');
    expect(frames.filter((f) => Object.keys(f).length === 0).length).toBeGreaterThanOrEqual(1);
    await api.stop('growing');
  });

  it('AG-313, AG-315, AG-316, API-198: logs of an allocation that has ended, until it is collected; plain, the text alone', async () => {
    const id = await running('spoken', 'echo one; echo two; echo three >&2; printf done > local/made');
    await api.stop('spoken');
    const ended = async () => (await api.get<Allocation>(`/v1/allocation/${id}`)).ClientStatus === 'complete';
    await eventually('it has ended', ended);
    const logs = (more: string) => `/v1/client/fs/logs/${id}?task=task${more}`;
    expect(await answerOf(logs('&type=stdout&plain=true'))).toEqual([200, 'one\ntwo\n']);
    expect(await answerOf(logs('&type=stderr&plain=true&origin=end&offset=4'))).toEqual([200, 'ree\n']);
    const read = await follow(logs('&type=stdout'));
    await eventually('without follow it ends', read.ended);
    expect(textOf(read.frames)).toBe('one\ntwo\n');
    const followed = await follow(logs('&type=stdout&follow=true'));
    await eventually('there is nothing new', () => followed.frames.some((frame) => Object.keys(frame).length === 0));
    expect([textOf(followed.frames), followed.ended()]).toEqual(['one\ntwo\n', false]);
    await api.raw(`/v1/client/allocation/${id}/gc`, { method: 'PUT' });
    await eventually('with follow it ends when there are no files any more', followed.ended);
    expect((await answerOf(logs('&type=stdout&plain=true')))[0]).toBe(404);
    expect((await answerOf(logs('&type=other')))[0]).toBe(400);
  });

  it('API-635, AG-314: whoever leaves frees what was held for it', async () => {
    const { frames, leave } = await follow(url('stream', inTask('text')));
    await eventually('it has begun', () => frames.length > 0);
    leave();
    expect(await answerOf(url('cat', inTask('text')))).toEqual([200, 'hello files']);
  });
});

describe('what is refused', () => {
  it('AG-300, API-197: requests that cannot be right', async () => {
    for (const what of ['ls', 'stat', 'cat', 'readat', 'stream', 'logs'])
      expect(await answerOf(url(what, '/', '&offset=0&task=task&type=stdout', '')), what).toEqual([
        400,
        'must provide a valid alloc id',
      ]);
    expect(await answerOf(url('tail', '/'))).toEqual([404, 'Invalid method']);
    for (const what of ['stat', 'cat', 'readat', 'stream'])
      expect(await answerOf(url(what, '')), what).toEqual([400, 'must provide a file name']);
    const file = inTask('text');
    expect(await answerOf(url('readat', file))).toEqual([400, 'error parsing offset: ']);
    expect(await answerOf(url('readat', file, '&offset=x'))).toEqual([400, 'error parsing offset: x']);
    expect(await answerOf(url('readat', file, '&offset=1&limit=y'))).toEqual([400, 'error parsing limit: y']);
    expect(await answerOf(url('stream', file, '&follow=maybe'))).toEqual([
      400,
      'failed to parse follow field to boolean: maybe',
    ]);
    expect(await answerOf(url('stream', file, '&origin=middle'))).toEqual([400, 'origin must be start or end']);
    for (const what of ['cat', 'readat', 'stream'])
      expect(await answerOf(url(what, inTask('sub'), '&offset=0')), what).toEqual([
        400,
        `file "${inTask('sub')}" is a directory`,
      ]);
  });

  it('AG-301, API-194: what is not there', async () => {
    const nobody = '00000000-0000-4000-8000-000000000000';
    expect(await answerOf(url('ls', '/', '', nobody))).toEqual([404, `Unknown allocation "${nobody}"`]);
    for (const [what, status] of [
      ['ls', 404],
      ['stat', 404],
      ['cat', 400],
      ['readat', 400],
      ['stream', 400],
    ] as const)
      for (const name of ['none', 'x'.repeat(300), 'a\0b'])
        expect(await answerOf(url(what, inTask(name), '&offset=0')), what).toEqual([
          status,
          expect.stringMatching(/^open .*no such file or directory/s),
        ]);
  });

  it('AG-302: ways out of the directory, and to secrets, also through links', async () => {
    for (const path of ['..', '../..', '/../../etc/passwd', 'task/../../x', inTask('out')])
      for (const what of ['ls', 'stat', 'cat'])
        expect(await answerOf(url(what, path)), `${what} ${path}`).toEqual([400, 'Path escapes the alloc directory']);
    for (const path of ['/task/secrets/key', inTask('inner/key'), 'task/local/../secrets/key'])
      for (const what of ['stat', 'cat', 'stream'])
        expect(await answerOf(url(what, path)), `${what} ${path}`).toEqual([
          403,
          `Reading secret file prohibited: ${path}`,
        ]);
    expect((await answerOf(url('ls', '/task/secrets')))[0]).toBe(403);
    expect(await answerOf(url('cat', '/task/private/key'))).toEqual([
      403,
      'Reading private file prohibited: /task/private/key',
    ]);
  });

  it('a pipe that nobody writes to holds nobody up', async () => {
    expect(await answerOf(url('cat', inTask('pipe')))).toEqual([400, `file "${inTask('pipe')}" is no regular file`]);
  });

  it('AG-302: a task that swaps a directory for a link while it is read gets nothing out', async () => {
    const id = await running(
      'swapping',
      'mkdir -p local/real; printf mine > local/real/passwd; ln -s real local/dir; printf done > local/made\n' +
        '(while :; do ln -sfn /etc local/dir; ln -sfn real local/dir; done) &',
    );
    const seen = new Set<string>();
    for (let i = 0; i < 300; i++) seen.add((await answerOf(url('cat', inTask('dir/passwd'), '', id)))[1]);
    for (const text of seen)
      expect(text).toMatch(/^(mine|Path escapes the alloc directory|open .*: no such file or directory)$/);
    expect(seen).toContain('mine');
    await api.stop('swapping');
  });
});

describe('waybill alloc fs', () => {
  const cli = async (...words: string[]): Promise<string> => {
    const env = { ...process.env, WAYBILL_ADDR: api.url };
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [CLI, 'alloc', 'fs', ...words], {
      env,
    }).catch((error: unknown) => error as { stdout: string; stderr: string });
    return stdout + stderr;
  };

  it('CL-421: directories, files, their ends, and what is known of them', async () => {
    const root = await cli(alloc);
    expect(root.split('\n')[0]).toMatch(/^Mode +Size +Modified Time +Name$/);
    expect(root).toMatch(/^d[rwx-]{9} .* alloc\/$/m);
    expect(await cli(alloc.slice(0, 8), inTask('text'))).toBe('hello files');
    expect(await cli('-stat', alloc, inTask('text'))).toMatch(
      /^Mode +Size +Modified Time +Content Type +Name\n-rw-r----- +11 B +\S+ +text\/plain; charset=utf-8 +text\n$/,
    );
    expect(await cli('-stat', alloc, inTask('zeros'))).toContain('684 KiB');
    expect(await cli('-stat', '-H', alloc, inTask('zeros'))).toContain('700000');
    expect(await cli('-tail', '-c', '5', alloc, inTask('text'))).toBe('files');
    expect(await cli('-job', 'files', inTask('link'))).toBe('hello files');
  });

  it('CL-421: what cannot be', async () => {
    expect(await cli(alloc, 'a', 'b')).toContain('This command takes one or two arguments: <allocation> [<path>]');
    expect(await cli('-tail', '-n', '1', '-c', '1', alloc, 'a')).toContain('Both -n and -c are not allowed');
    expect(await cli('-tail', '-n', '-2', alloc, 'a')).toContain('Invalid size is specified');
    expect(await cli(alloc, '/none')).toContain('no such file or directory');
  });
});
