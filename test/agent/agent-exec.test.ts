import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type IncomingMessage, request } from 'node:http';
import type { Allocation } from '@waybill/model';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiClient, shellJob } from '../support/api-client.js';
import { textUntil } from '../support/stream-text.js';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';
import { TestWebSocket } from '../support/websocket.js';

let waybill: WaybillProcesses;
let api: ApiClient;
let alloc: Allocation;
let auditDir: string;

beforeAll(async () => {
  auditDir = mkdtempSync(path.join(tmpdir(), 'waybill-audit-'));
  waybill = await WaybillProcesses.startTogether({
    WAYBILL_AUDIT_ENABLED: 'true',
    WAYBILL_AUDIT_FILE: path.join(auditDir, 'audit.log'),
  });
  api = waybill.api;
  await eventually('the node is ready', async () =>
    (await api.get<{ Status: string }[]>('/v1/nodes')).some((node) => node.Status === 'ready'),
  );
  await api.register(shellJob('shell', 'echo up; exec sleep 1000'));
  alloc = await eventually('the task runs', async () => {
    const [found] = await api.get<Allocation[]>('/v1/job/shell/allocations');
    return found?.ClientStatus === 'running' && found;
  });
});
afterAll(async () => {
  await waybill?.stop();
  rmSync(auditDir, { recursive: true, force: true });
});

interface Said {
  readonly stdout?: { data?: string; close?: boolean };
  readonly stderr?: { data?: string; close?: boolean };
  readonly exited?: boolean;
  readonly result?: { exit_code: number };
}

function open(command: readonly string[] | null, over: Record<string, string> = {}, id = alloc.ID) {
  const query = new URLSearchParams({ task: 'task', ...(command && { command: JSON.stringify(command) }), ...over });
  return TestWebSocket.open(`${api.url}/v1/client/allocation/${id}/exec?${query.toString()}`);
}

const typed = (text: string, close = false) => ({ stdin: { data: Buffer.from(text).toString('base64'), close } });
/** What the server answers to a handshake of another version of the protocol. */
async function statusOfHandshake(url: string, version: string): Promise<number | undefined> {
  const asked = { Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Version': version };
  const headers = { ...asked, 'Sec-WebSocket-Key': Buffer.alloc(16).toString('base64') };
  const [answer] = (await once(request(url, { headers }).end(), 'response')) as [IncomingMessage];
  return answer.resume().statusCode;
}

const said = (client: TestWebSocket): Said[] => client.messages.map((message) => JSON.parse(message) as Said);
const output = (client: TestWebSocket, stream: 'stdout' | 'stderr'): string =>
  Buffer.concat(said(client).map((one) => Buffer.from(one[stream]?.data ?? '', 'base64'))).toString();
const ended = (client: TestWebSocket) => eventually('it is closed', () => client.closedWith);
const processes = async (marker: string): Promise<string> => {
  const client = await open(['sh', '-c', `grep -l ${marker} /proc/[0-9]*/environ 2>/dev/null | wc -l`]);
  await ended(client);
  return output(client, 'stdout').trim();
};

describe('commands in a task, over HTTP', () => {
  it('AU-272 AU-277: a session has three records, with nothing of its command, its input or its output', async () => {
    const client = await open(['sh', '-c', 'read line; echo "heard $line, whispered"']);
    client.send(typed('hunter2\n', true));
    await ended(client);
    expect(output(client, 'stdout')).toBe('heard hunter2, whispered\n');
    const endpoint = `/v1/client/allocation/${alloc.ID}/exec`;
    const lines = await eventually('its records are written', () => {
      const found = readFileSync(path.join(auditDir, 'audit.log'), 'utf8').split('\n');
      const own = found.filter((line) => line.includes(endpoint));
      return own.length === 3 && own;
    });
    const stages = ['OperationReceived', 'OperationComplete', 'OperationClosed'];
    expect(lines.map((line) => (JSON.parse(line) as { payload: { stage: string } }).payload.stage)).toEqual(stages);
    expect(lines[1]).toContain('"status_code":101');
    for (const secret of ['hunter2', 'whispered', Buffer.from('hunter2\n').toString('base64')])
      expect(lines.join('')).not.toContain(secret);
  });

  it('API-80, API-81, AG-322, AG-323: output of both kinds, the ends of the streams, the exit code, a normal close', async () => {
    const client = await open(['sh', '-c', 'echo $NOMAD_TASK_NAME; pwd; echo wrong >&2; exit 3']);
    expect(await ended(client)).toEqual({ code: 1000, reason: '' });
    expect(output(client, 'stdout')).toMatch(/^task\n\/.*\/task\n$/);
    expect(output(client, 'stderr')).toBe('wrong\n');
    expect(said(client).slice(-3)).toEqual([
      { stdout: { close: true } },
      { stderr: { close: true } },
      { exited: true, result: { exit_code: 3 } },
    ]);
  });

  it('API-81, API-636, AG-321: input, its end, heartbeats', async () => {
    const client = await open(['cat']);
    client.send({});
    client.send(typed('one '));
    client.send(typed('two', true));
    await ended(client);
    expect(output(client, 'stdout')).toBe('one two');
  });

  it('AG-323: a lot of output arrives whole, with a reader that pauses', async () => {
    const client = await open(['sh', '-c', 'seq 1 200000']);
    client.raw.pause();
    await eventually('the command is up', async () => (await processes('NOMAD_TASK_NAME=task')) !== '');
    client.raw.resume();
    await ended(client);
    const lines = output(client, 'stdout').trimEnd().split('\n');
    expect([lines.length, lines.at(-1)]).toEqual([200_000, '200000']);
  });

  it('API-80, API-81, API-527, API-636, AG-320, AG-321: an interactive shell in a real terminal, with its size', async () => {
    const client = await open(['sh', '-i'], { tty: 'true', ws_handshake: 'true' });
    client.send({ version: 1, auth_token: '' });
    client.send({ tty_size: { height: 40, width: 123 } });
    client.send(typed('tty >/dev/null && stty size; exit 5\n'));
    await ended(client);
    expect(output(client, 'stdout')).toContain('40 123\r\n');
    expect(said(client).at(-1)).toEqual({ exited: true, result: { exit_code: 5 } });
  });

  it.each([
    ['no task', ['x'], { task: '' }, 1008, 'must provide task name'],
    ['no command', null, {}, 1008, 'command is not present'],
    ['an empty command', [], {}, 1008, 'command is not present'],
    ['another task', ['x'], { task: 'none' }, 1008, 'unknown task name "none"'],
    ['a reason longer than a close frame', ['x'], { task: 'n'.repeat(128) }, 1008, 'unknown task name "nnn'],
    ['no such program', ['/no/such/program'], {}, 1011, 'executable file not found'],
  ] as const)('API-82, AG-324: %s', async (_what, command, over, code, reason) => {
    const closed = await ended(await open(command, over));
    expect(closed).toEqual({ code, reason: expect.stringContaining(reason) });
  });

  it('API-80, API-82, AG-320: another version, or an unknown allocation, is sent away', async () => {
    const client = await open(['true'], { ws_handshake: 'true' });
    client.send({ version: 2 });
    expect(await ended(client)).toEqual({ code: 1008, reason: expect.stringContaining('unexpected version 2') });
    const nobody = await open(['true'], {}, '00000000-0000-4000-8000-000000000000');
    expect(await ended(nobody)).toEqual({ code: 1008, reason: expect.stringContaining('Unknown allocation') });
  });

  it('API-636, AG-326: a client that vanishes takes the command and its children along', async () => {
    const client = await open(['sh', '-c', 'export MARK=vanishing; sleep 500 & exec sleep 501']);
    await eventually('both run', async () => (await processes('MARK=vanishing')) === '2');
    client.raw.terminate();
    await eventually('both are gone', async () => (await processes('MARK=vanishing')) === '0');
  });

  it.each([
    ['1000', 1000],
    ['1001', 1001],
    ['no code', undefined],
  ])('API-83: a client that closes with %s ends the command, and is answered in kind', async (code, closing) => {
    const mark = `MARK=closing-${code.replace(' ', '')}`;
    const client = await open(['sh', '-c', `export ${mark}; exec sleep 502`]);
    await eventually('it runs', async () => (await processes(mark)) === '1');
    client.raw.close(closing);
    await eventually('it is gone', async () => (await processes(mark)) === '0');
    const closed = await ended(client);
    expect(closed).toMatchObject({ reason: '' });
    expect([1011, 1008, 1002]).not.toContain(closed.code);
  });

  it('what is no handshake, comes from another site, or breaks the protocol is refused', async () => {
    const url = `${api.url}/v1/client/allocation/${alloc.ID}/exec?task=task&command=["true"]`;
    await expect(TestWebSocket.open(url, { Origin: 'http://elsewhere.example' })).rejects.toThrow('refused: 403');
    expect(await statusOfHandshake(url, '7')).toBe(400);
    await expect(TestWebSocket.open(`${api.url}/v1/jobs`)).rejects.toThrow('refused: 404');
    const same = await TestWebSocket.open(url, { Origin: api.url });
    expect(await ended(same)).toMatchObject({ code: 1000 });
    const binary = await open(['cat']);
    binary.raw.send(Buffer.from('x'));
    expect(await ended(binary)).toMatchObject({ code: 1003 });
    const nonsense = await open(['cat']);
    nonsense.send('no json');
    expect(await ended(nonsense)).toEqual({ code: 1008, reason: 'a message is no JSON' });
  });

  it('AG-326: the end of the task ends the command', async () => {
    const client = await open(['sh', '-c', 'echo begun; exec sleep 1000']);
    await eventually('the command runs', () => output(client, 'stdout') === 'begun\n');
    await api.stop('shell');
    await ended(client);
    expect(said(client).at(-1)).toEqual({ exited: true, result: { exit_code: 137 } });
    expect(await ended(await open(['true']))).toEqual({ code: 1008, reason: 'task "task" is not running.' });
  });
});

it('OP-82: the log of a machine is watched through the API; an unknown machine is none', async () => {
  const gone = new AbortController();
  const path = `/v1/agent/monitor?node_id=${alloc.NodeID}&plain=true`;
  const { body } = await api.raw(path, { signal: gone.signal });
  // A machine that was forgotten registers again, and says so.
  await api.raw(`/v1/node/${alloc.NodeID}/purge`, { method: 'PUT' });
  const seen = await textUntil(body, (text) => / \[INFO\] {2}agent: registered: /.test(text));
  expect(seen).not.toMatch(/\] +(api|broker|nodes|http): /);
  gone.abort();
  const unknown = await api.raw('/v1/agent/monitor?node_id=00000000-0000-4000-8000-000000000000');
  expect([unknown.status, await unknown.text()]).toEqual([404, expect.stringContaining('Unknown node')]);
});
