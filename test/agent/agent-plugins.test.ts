import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fixtures } from '@waybill/state';
import type { Node, Task } from '@waybill/model';
import { NS_PER_SECOND } from '@waybill/model';
import { execEnd, execRead, execStart, execWrite, readLog, signalAlloc } from '@waybill/rpc';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NodesAndAgent } from '../support/nodes-and-agent.js';
import { installPlugin } from '../support/plugins/plugin-files.js';
import { eventually } from '../support/wait.js';

let cluster: NodesAndAgent;

/** The machine that several tests share, because its start takes most of their time. */
let shared: Node;

beforeAll(async () => {
  cluster = await NodesAndAgent.start();
  installPlugin(pluginDir('alpha'), 'command', 'command');
  await cluster.startAgent('alpha', ENV);
  shared = await cluster.node('alpha');
});
afterAll(async () => {
  await cluster?.stop();
});

const NO_RESTARTS = { Attempts: 0, Interval: NS_PER_SECOND, Delay: 0, Mode: 'fail', RenderTemplates: false };
const BEATS = 'n=0; while :; do echo "beat $n"; n=$((n+1)); sleep 0.05; done';

/** A task of the example driver that runs a shell. */
const commandTask = (line: string, over: Partial<Task> = {}): Task =>
  fixtures.aTask({
    Name: 'web',
    Driver: 'command',
    Config: { command: '/bin/sh', args: ['-c', line] },
    RestartPolicy: NO_RESTARTS,
    ...over,
  });

const pluginDir = (agent: string): string => path.join(cluster.agentDir(agent), 'plugins');
const ENV = { WAYBILL_PLUGINS: '{"command":{}}' };

/** Returns the pids of the processes of this agent's plugins. */
function pluginPids(agent: string): number[] {
  const records = path.join(cluster.agentDir(agent), 'plugin_state', 'running.json');
  if (!existsSync(records)) return [];
  return (JSON.parse(readFileSync(records, 'utf8')) as { process: { pid: number } }[]).map(
    ({ process: { pid } }) => pid,
  );
}

const tasksRunning = (mark: string): number =>
  execFileSync('ps', ['-eo', 'args', '--no-headers'], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line.startsWith('/bin/sh -c') && line.includes(mark)).length;

async function logOf(nodeId: string, allocId: string): Promise<string> {
  const read = { Task: 'web', Type: 'stdout', Origin: 'start', Offset: 0, Limit: 1_000_000, WaitMs: 0 } as const;
  const answer = await cluster.rpc.ask(readLog, { AllocID: allocId, ...read }, { target: nodeId });
  return Buffer.from(answer.Data, 'base64').toString();
}

const eventsOf = (allocId: string) => cluster.alloc(allocId).TaskStates['web']?.Events ?? [];

describe('a machine with an external driver', () => {
  it('PG-53, PG-55, PG-62: runs its tasks, with their output, their exit code, signals and stop', async () => {
    const node = shared;
    expect(node.Drivers['command']).toMatchObject({ Detected: true, Healthy: true });
    expect(node.Attributes['driver.command']).toBe('1');

    const done = await cluster.place(node.ID, [commandTask('echo $NOMAD_TASK_NAME; exit 3')], { type: 'batch' });
    await cluster.inStatus(done.ID, 'failed');
    expect(eventsOf(done.ID).find(({ Type }) => Type === 'Terminated')).toMatchObject({ Details: { exit_code: '3' } });
    expect(await logOf(node.ID, done.ID)).toBe('web\n');

    const line = 'trap "echo hup" HUP; echo ready; while :; do sleep 0.05; done';
    const alloc = await cluster.place(node.ID, [commandTask(line)]);
    await cluster.inStatus(alloc.ID, 'running');
    await eventually('it is ready', async () => (await logOf(node.ID, alloc.ID)) === 'ready\n');
    await cluster.rpc.ask(signalAlloc, { AllocID: alloc.ID, Task: 'web', Signal: 'SIGHUP' }, { target: node.ID });
    await eventually('the signal', async () => (await logOf(node.ID, alloc.ID)) === 'ready\nhup\n');
    await cluster.stopAlloc(alloc);
    await cluster.inStatus(alloc.ID, 'complete');
    expect(tasksRunning('echo hup')).toBe(0);

    const wrong = commandTask('', { Config: { comand: 'sh' } });
    const refused = await cluster.place(node.ID, [wrong], { type: 'batch' });
    await cluster.inStatus(refused.ID, 'failed');
    expect(eventsOf(refused.ID).find(({ Type }) => Type === 'Failed Validation')?.Details['validation_error']).toBe(
      [
        'failed to parse config: Invalid argument name; No argument or block type is named "comand".',
        'Missing required argument; The argument "command" is required, but no definition was found.',
      ].join('\n'),
    );
  });

  it('PG-76, AG-107: a plugin that is killed is started again, and its tasks go on without a trace', async () => {
    const node = shared;
    const count = 5;
    const allocs = [];
    for (let n = 0; n < count; n++) allocs.push(await cluster.place(node.ID, [commandTask(`: beta; ${BEATS}`)]));
    for (const { ID } of allocs) await cluster.inStatus(ID, 'running');
    for (let round = 0; round < 2; round++) {
      const [pid] = pluginPids('alpha');
      process.kill(pid!, 'SIGKILL');
      await eventually('another process of the plugin', () => {
        const pids = pluginPids('alpha');
        return pids.length === 1 && pids[0] !== pid;
      });
    }
    for (const { ID } of allocs) {
      const before = (await logOf(node.ID, ID)).length;
      await eventually('its output goes on', async () => (await logOf(node.ID, ID)).length > before);
      expect(eventsOf(ID).map(({ Type }) => Type)).toEqual(['Received', 'Task Setup', 'Started']);
    }
    expect(tasksRunning(': beta')).toBe(count);
    for (const alloc of allocs) await cluster.stopAlloc(alloc);
    for (const { ID } of allocs) await cluster.inStatus(ID, 'complete');
    expect(tasksRunning(': beta')).toBe(0);
  });

  it('PG-67, PG-137, AG-277: runs commands beside its tasks, and kills one whose caller leaves', async () => {
    const node = shared;
    const alloc = await cluster.place(node.ID, [commandTask(`: zeta; ${BEATS}`)]);
    await cluster.inStatus(alloc.ID, 'running');
    const at = { target: node.ID };
    const begin = async (line: string): Promise<string> => {
      const command = { AllocID: alloc.ID, Task: 'web', Command: ['sh', '-c', line], Tty: false };
      return (await cluster.rpc.ask(execStart, command, at)).SessionID;
    };
    const outcomeOf = async (SessionID: string): Promise<{ bytes: number; text: string; code: number | null }> => {
      let bytes = 0;
      for (let text = ''; ;) {
        const { Chunks, ExitCode } = await cluster.rpc.ask(execRead, { SessionID }, at);
        for (const { Data } of Chunks) {
          const data = Buffer.from(Data, 'base64');
          bytes += data.length;
          text = (text + data.toString()).slice(0, 200);
        }
        if (ExitCode !== null) return { bytes, text, code: ExitCode };
      }
    };
    const hello = await begin('read word; echo "$NOMAD_TASK_NAME $word"; exit 137');
    const input = { SessionID: hello, Data: Buffer.from('typed\n').toString('base64'), Close: true, Size: null };
    await cluster.rpc.ask(execWrite, input, at);
    expect(await outcomeOf(hello)).toMatchObject({ text: 'web typed\n', code: 137 });
    const much = 10 * 1024 * 1024;
    expect(await outcomeOf(await begin(`head -c ${much} /dev/zero`))).toMatchObject({ bytes: much, code: 0 });

    const left = await begin('while :; do : left-alone; sleep 0.1; done');
    const isThere = (): boolean => execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' }).includes('left-alone');
    await eventually('the command runs', isThere);
    await cluster.rpc.ask(execEnd, { SessionID: left }, at);
    await eventually('the command is gone', () => !isThere(), 5_000);
    await cluster.stopAlloc(alloc);
    await cluster.inStatus(alloc.ID, 'complete');
  });

  it('PG-53, PG-65, PG-77, PG-124: a plugin that misbehaves harms its own tasks only', async () => {
    const faults = ['floods-events', 'ends-fingerprint', 'dies-at-start'];
    for (const fault of faults) installPlugin(pluginDir('eta'), fault, 'faulty');
    const blocks = Object.fromEntries(faults.map((fault) => [fault, { args: [fault, fault] }]));
    const agent = await cluster.startAgent('eta', { WAYBILL_PLUGINS: JSON.stringify(blocks) });
    const node = await cluster.node('eta');
    expect(node.Drivers['ends-fingerprint']).toMatchObject({ Healthy: true, HealthDescription: 'as of now' });
    expect(node.Drivers['floods-events']).toMatchObject({ Healthy: true });
    const tasks = faults.map((Driver) =>
      fixtures.aTask({ Name: 'web', Driver, Config: {}, RestartPolicy: NO_RESTARTS }),
    );
    const [flooded, , died] = await Promise.all(tasks.map((task) => cluster.place(node.ID, [task], { type: 'batch' })));
    await cluster.inStatus(flooded!.ID, 'running');
    await cluster.inStatus(died!.ID, 'failed');
    expect(eventsOf(died!.ID).find(({ Type }) => Type === 'Driver Failure')?.Details['driver_error']).toMatch(
      /^failed to start task after driver exited unexpectedly: /,
    );
    await cluster.endAgent(agent, 'SIGTERM');
    const log = readFileSync(path.join(cluster.dir, 'eta.log'), 'utf8');
    const warnings = log
      .split('\n')
      .filter((line) => line.includes('a driver reports an event of a task that is not here'));
    expect(warnings.length).toBeGreaterThan(0);
    expect(warnings.length).toBeLessThan(500);
  });

  it('PG-72, PG-74, PG-75, AG-193: an agent that ended, killed or in order, finds plugin and tasks again', async () => {
    installPlugin(pluginDir('gamma'), 'command', 'command');
    let agent = await cluster.startAgent('gamma', ENV);
    const node = await cluster.node('gamma');
    const alloc = await cluster.place(node.ID, [commandTask(`: gamma; ${BEATS}`)]);
    await cluster.inStatus(alloc.ID, 'running');
    for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
      const pids = pluginPids('gamma');
      await cluster.endAgent(agent, signal);
      expect([tasksRunning(': gamma'), pluginPids('gamma').length]).toEqual([1, signal === 'SIGKILL' ? 1 : 0]);

      agent = await cluster.startAgent('gamma', ENV);
      const before = (await logOf(node.ID, alloc.ID)).length;
      await eventually('its output goes on', async () => (await logOf(node.ID, alloc.ID)).length > before);
      if (signal === 'SIGKILL') expect(pluginPids('gamma')).toEqual(pids);
      const beats = (await logOf(node.ID, alloc.ID)).trimEnd().split('\n');
      expect(beats).toEqual(beats.map((_, n) => `beat ${n}`));
      expect(eventsOf(alloc.ID).filter(({ Type }) => Type === 'Started')).toHaveLength(1);
    }
    await cluster.stopAlloc(alloc);
    await cluster.inStatus(alloc.ID, 'complete');
    expect(tasksRunning(': gamma')).toBe(0);
    await cluster.endAgent(agent, 'SIGTERM');
  });

  it('PG-22, PG-27, PG-132: a file that cannot be a plugin does not keep the agent from starting', async () => {
    const dir = pluginDir('delta');
    installPlugin(dir, 'open', 'command');
    chmodSync(path.join(dir, 'open'), 0o777);
    installPlugin(dir, 'unnamed', 'command');
    writeFileSync(path.join(dir, 'empty'), '', { mode: 0o755 });
    writeFileSync(path.join(dir, 'text'), 'no program', { mode: 0o755 });
    writeFileSync(path.join(dir, 'notes'), 'not executable', { mode: 0o644 });
    mkdirSync(path.join(dir, 'folder'));
    installPlugin(dir, 'liar', 'faulty');
    const blocks = { open: {}, empty: {}, text: {}, notes: {}, folder: {}, liar: { args: ['lies-about-versions'] } };
    const agent = await cluster.startAgent('delta', { WAYBILL_PLUGINS: JSON.stringify(blocks) });
    const { Drivers } = await cluster.node('delta');
    expect(Drivers['open']).toMatchObject({ Detected: false });
    expect(Drivers['open']?.HealthDescription).toMatch(/others may write to .*open: take that away with chmod go-w/);
    expect(Drivers['empty']?.HealthDescription).toMatch(/plugin exited before we could connect/);
    expect(Drivers['text']?.HealthDescription).toMatch(/plugin exited before we could connect|EACCES|ENOEXEC/);
    expect(Drivers['liar']?.HealthDescription).toMatch(/do not overlap/);
    expect(Object.keys(Drivers)).not.toEqual(expect.arrayContaining(['unnamed', 'notes', 'folder', 'command']));
    await cluster.endAgent(agent, 'SIGTERM');
  });

  it('PG-30: drivers that the operator denies are not there, built-in or not', async () => {
    installPlugin(pluginDir('theta'), 'command', 'command');
    const agent = await cluster.startAgent('theta', { ...ENV, WAYBILL_DRIVER_DENYLIST: 'command,mock_driver' });
    expect(Object.keys((await cluster.node('theta')).Drivers).toSorted()).toEqual(['docker', 'exec', 'raw_exec']);
    expect(pluginPids('theta')).toEqual([]);
    await cluster.endAgent(agent, 'SIGTERM');
  });

  it('PG-26: a configuration that does not fit the plugin keeps the agent from starting', async () => {
    installPlugin(pluginDir('epsilon'), 'command', 'command');
    const { agent, logFile } = await cluster.spawnAgent('epsilon', {
      WAYBILL_PLUGINS: '{"command":{"config":{"nothing":1}}}',
    });
    await eventually('it has ended', () => agent.exitCode !== null);
    expect(readFileSync(logFile, 'utf8')).toContain(
      'parsing plugin configurations failed: plugin "command" (driver): configuration not allowed but config passed',
    );
  });
});
