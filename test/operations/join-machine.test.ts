import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort, wipe } from '@waybill/embedded';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { shellJob } from '../support/api-client.js';
import { runCli } from '../support/cli.js';
import { Launcher, nothingRuns, UP_TIMEOUT_MS } from '../support/launcher.js';
import { eventually } from '../support/wait.js';

const PROGRAM = fileURLToPath(new URL('../../apps/cli/bin/waybill.js', import.meta.url));
const LONG_MS = 240_000;

let parent: string;
let dataDir: string;
let machineDir: string;
let launcher: Launcher | undefined;
let machine: ChildProcess | undefined;

beforeEach(() => {
  parent = mkdtempSync(path.join(tmpdir(), 'waybill-join-'));
  chmodSync(parent, 0o711);
  dataDir = path.join(parent, 'cluster');
  machineDir = path.join(parent, 'machine');
});
afterEach(async () => {
  if (machine && machine.exitCode === null) {
    machine.kill('SIGTERM');
    await once(machine, 'exit');
  }
  if (launcher?.running) await launcher.interrupt();
  rmSync(machineDir, { recursive: true, force: true }); // which ends what collects its logs
  await nothingRuns(parent);
  await wipe(dataDir);
  rmSync(parent, { recursive: true, force: true });
});

const waybill = (...words: string[]) => spawnSync(process.execPath, [PROGRAM, ...words], { encoding: 'utf8' });

/** `waybill agent join …`, as a person leaves it running. */
function joins(...words: string[]): ChildProcess {
  return spawn(process.execPath, [PROGRAM, 'agent', 'join', `-data-dir=${machineDir}`, '-node=second', ...words], {
    // What is mounted for secrets would keep the directory from being removed.
    env: { ...process.env, WAYBILL_AGENT_SECRETS_IN_MEMORY: 'false' },
    stdio: 'ignore',
  });
}

it(
  'a second machine joins by the one command that the first prints: work, logs and exec reach it, also after a restart',
  async () => {
    const port = await freePort();
    const start = () => new Launcher({ port, dataDir, args: ['--empty'] });
    expect(waybill('agent', 'invite', `-data-dir=${dataDir}`)).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('run npm start first, or name its directory with -data-dir') as string,
    });
    launcher = await start().up();
    const { api } = launcher;

    const invited = waybill('agent', 'invite', `-data-dir=${dataDir}`);
    expect(invited.stdout).toMatch(/^waybill agent join -data-dir=waybill-machine waybill-join-[\w-]+\n$/);
    expect(invited.stderr).toContain('The token is a secret');
    const token = invited.stdout.trim().split(' ').at(-1)!;
    const known = readFileSync(path.join(dataDir, 'credentials', 'machines.json'), 'utf8');
    expect(known).not.toMatch(/SU[A-Z2-7]{56}/);

    machine = joins(token);
    const ready = () =>
      eventually(
        'the second machine is ready',
        async () => {
          const nodes = await api.get<{ Name: string; Status: string }[]>('/v1/nodes');
          return nodes.some(({ Name, Status }) => Name === 'second' && Status === 'ready');
        },
        UP_TIMEOUT_MS,
      );
    await ready();
    for (const file of ['credentials/agent.seed', 'agent/client-id', 'agent/secret-id', 'joined-nats-url'])
      expect(statSync(path.join(machineDir, file)).mode & 0o777, file).toBe(0o600);
    expect(readFileSync(`/proc/${machine.pid}/cmdline`, 'utf8')).not.toContain(token);

    const there = [{ LTarget: '${node.unique.name}', RTarget: 'second', Operand: '=' }];
    await api.register({ ...shellJob('there', 'echo hello from there; exec sleep 600'), Constraints: there });
    const runs = () =>
      eventually('the job runs', async () => {
        const allocs = await api.get<{ NodeName: string; ClientStatus: string }[]>('/v1/job/there/allocations');
        return allocs.length === 1 && allocs[0]!.ClientStatus === 'running' && allocs[0]!.NodeName;
      });
    expect(await runs()).toBe('second');
    const works = async (): Promise<void> => {
      await eventually('its output is there', async () =>
        (await runCli(api.url, ['alloc', 'logs', '-job', 'there'])).out.includes('hello from there\n'),
      );
      const exec = ['alloc', 'exec', '-i=false', '-t=false', '-job', 'there', '/bin/echo', 'in it'];
      expect(await runCli(api.url, exec)).toMatchObject({ code: 0, out: 'in it\n' });
    };
    await works();

    // The cluster keeps the port that the machine knows, and the machine who it is.
    await launcher.interrupt();
    launcher = await start().up();
    await works();
    machine.kill('SIGTERM');
    await once(machine, 'exit');
    machine = joins();
    await eventually('it is reached again', async () => {
      await works();
      return true;
    });
    expect(await api.get<unknown[]>('/v1/nodes')).toHaveLength(2);

    const other = waybill('agent', 'invite', `-data-dir=${dataDir}`).stdout.trim().split(' ').at(-1)!;
    expect(waybill('agent', 'join', `-data-dir=${machineDir}`, other)).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('choose another directory with -data-dir') as string,
    });
    await api.stop('there', true);
    await eventually('its task has ended', async () => {
      const allocs = await api.get<{ ClientStatus: string }[]>('/v1/job/there/allocations');
      return allocs.every(({ ClientStatus }) => ClientStatus === 'complete');
    });
  },
  LONG_MS,
);

it('a machine that has not joined, or whose token is none, is told what to do', () => {
  expect(waybill('agent', 'join', `-data-dir=${machineDir}`)).toMatchObject({
    status: 1,
    stderr: `Error joining: ${machineDir} has not joined a cluster: give it the token that "waybill agent invite" or "waybill node intro create -nats" prints\n`,
  });
  expect(waybill('agent', 'join', `-data-dir=${machineDir}`, 'waybill-join-nonsense')).toMatchObject({
    status: 1,
    stderr:
      'Error joining: this is no token of "waybill agent invite" or "waybill node intro create -nats": copy all of the line that it prints\n',
  });
  expect(waybill('agent', 'join', '-data-dir=/proc/nope', 'waybill-join-nonsense').status).toBe(1);
});
