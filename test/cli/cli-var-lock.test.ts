import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { NS_PER_SECOND } from '@waybill/model';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ApiClient } from '../support/api-client.js';
import { runCli } from '../support/cli.js';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

const PROGRAM = fileURLToPath(new URL('../../apps/cli/bin/waybill.js', import.meta.url));
/** The shortest that the servers accept: how long this file takes depends on it. */
const TTL_S = 10;
const SHORT = [`-ttl=${TTL_S}s`, '-delay=1ms'];
const UP_MS = 60_000;

/** The members of a transaction that the history shows. */
interface LogEntry {
  Index: number;
  Time: number;
  Name: string;
  Role: string;
  Epoch: number;
  Objects: { ID: string; Change: string }[];
}

interface Variable {
  Items?: Record<string, string>;
  Lock?: { ID: string };
  ModifyIndex: number;
}

let waybill: WaybillProcesses;
let api: ApiClient;
let dir: string;
const children: ChildProcess[] = [];
/** Holders whose time runs while the other tests do something: one is killed, one loses its lock. */
let killed: Holder;
let loser: Holder;
/** The index at which the killed one took its lock. */
let takenAt: number;

const variable = (name: string) => api.get<Variable>(`/v1/var/${name}`);
const put = async (url: string, body: unknown): Promise<number> =>
  (await api.raw(`/v1/var/${url}`, { method: 'PUT', body: JSON.stringify(body) })).status;

/** Runs `waybill var lock` as a process without a terminal. Its command writes the signals that it gets to a file. */
class Holder {
  private readonly written = { out: '', err: '' };
  readonly ended: Promise<[number | null, NodeJS.Signals | null]>;
  private readonly file: string;
  readonly child: ChildProcess;

  constructor(
    readonly name: string,
    target = name,
  ) {
    this.file = path.join(dir, name.replaceAll('/', '-'));
    const traps = ['INT', 'TERM'].map((signal) => `trap 'echo ${signal} >> ${this.file}; exit 7' ${signal}`);
    const script = `${traps.join('; ')}; echo $$ >> ${this.file}; while :; do sleep 0.05; done`;
    this.child = spawn(process.execPath, [PROGRAM, 'var', 'lock', ...SHORT, '-shell', target, script], {
      env: { ...process.env, WAYBILL_ADDR: api.url },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    children.push(this.child);
    this.child.stdout?.on('data', (data: Buffer) => (this.written.out += data.toString()));
    this.child.stderr?.on('data', (data: Buffer) => (this.written.err += data.toString()));
    this.ended = once(this.child, 'exit') as typeof this.ended;
  }

  get said(): string {
    return this.written.err;
  }

  /** The output of the command: its pid, and the signals that it got. */
  get lines(): string[] {
    return existsSync(this.file) ? readFileSync(this.file, 'utf8').trim().split('\n') : [];
  }

  async holds(): Promise<this> {
    await eventually(`${this.name} is locked and its command runs`, () => this.lines.length > 0, UP_MS);
    expect((await variable(this.name)).Lock).toBeDefined();
    return this;
  }
}

beforeAll(async () => {
  dir = mkdtempSync(path.join(tmpdir(), 'waybill-locks-'));
  waybill = await WaybillProcesses.startTogether(
    { WAYBILL_KEYRING_KEY: 'cd'.repeat(32) },
    ['projector', 'broker', 'scheduler', 'api'],
    ['broker'],
  );
  api = waybill.api;
  await eventually('the keyring is ready', async () => (await put('ready', { Items: { a: 'b' } })) === 200, UP_MS);
  [killed, loser] = [new Holder('killed'), new Holder('lost')];
  await Promise.all([killed.holds(), loser.holds()]);
  takenAt = (await variable('killed')).ModifyIndex;
  const [pid] = killed.lines;
  killed.child.kill('SIGKILL');
  process.kill(Number(pid), 'SIGKILL'); // the command outlives its parent
  await killed.ended;
  await waybill.kill('broker');
  await waybill.startService('broker', 'broker-2');
}, 3 * UP_MS);

afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  await waybill?.stop();
  rmSync(dir, { recursive: true, force: true });
});

it.each(['SIGINT', 'SIGTERM'] as const)(
  'CL-853, OP-201: %s goes to the command, whose exit code counts, and the lock is released',
  async (signal) => {
    const holder = await new Holder(`signalled/${signal}`).holds();
    holder.child.kill(signal);
    expect(await holder.ended).toEqual([7, null]);
    expect(holder.lines.slice(1)).toEqual([signal.slice('SIG'.length)]);
    expect((await variable(holder.name)).Lock).toBeUndefined();
  },
  UP_MS,
);

it(
  'CL-853, OP-200: a file says which variable is locked and which items it has meanwhile and afterwards',
  async () => {
    const file = path.join(dir, 'spec.json');
    writeFileSync(file, JSON.stringify({ Path: 'from/file', Items: { leader: 'me' } }));
    const holder = await new Holder('from/file', `@${file}`).holds();
    expect((await variable('from/file')).Items).toEqual({ leader: 'me' });
    holder.child.kill('SIGINT');
    expect((await holder.ended)[0]).toBe(7);
    const { Items, Lock } = await variable('from/file');
    expect([Items, Lock]).toEqual([{ leader: 'me' }, undefined]);
    const missing = await runCli(api.url, ['var', 'lock', `@${file}.gone`, 'true']);
    expect([missing.code, missing.err]).toEqual([1, expect.stringContaining('spec.json.gone')]);
  },
  UP_MS,
);

it(
  'CL-853, OP-202: when the lock is lost, its command gets SIGTERM and the exit code is 1',
  async () => {
    const { Lock } = await variable('lost');
    expect(await put('lost?lock-release', { Lock })).toBe(200);
    expect(await loser.ended).toEqual([1, null]);
    expect(loser.lines.slice(1)).toEqual(['TERM']);
    expect(loser.said).toContain('The lock of "lost" was lost');
  },
  UP_MS,
);

it(
  'OP-202: a killed holder’s lock passes on after twice its TTL, which a new holder of the role broker counts anew',
  async () => {
    const next = await runCli(api.url, ['var', 'lock', ...SHORT, 'killed', 'true']);
    expect(next).toMatchObject({ code: 0, err: '' });
    const log = await api.get<LogEntry[]>('/v1/waybill/log');
    const term = log.find(({ Index, Name }) => Name === 'LeaseAcquired' && Index > takenAt);
    const end = log.find(({ Role, Objects }) => Role === 'broker' && Objects.some(({ ID }) => ID === 'killed'));
    expect(end).toMatchObject({ Epoch: 2, Objects: [{ ID: 'killed', Change: 'unlocked' }] });
    expect((end!.Time - term!.Time) / NS_PER_SECOND).toBeGreaterThanOrEqual(2 * TTL_S);
  },
  UP_MS,
);
