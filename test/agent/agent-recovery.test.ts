import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { collectAllocs, readLog } from '@waybill/rpc';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { unmountBelow } from '../support/csi-plugin/disks.mjs';
import { NodesAndAgent, shellTask } from '../support/nodes-and-agent.js';
import { eventually } from '../support/wait.js';

let cluster: NodesAndAgent;

beforeAll(async () => {
  cluster = await NodesAndAgent.start();
});
afterAll(async () => {
  if (cluster) unmountBelow(cluster.dir); // of tasks that go on, or whose agent was killed
  await cluster?.stop();
});

/** The pid that a task wrote into its `local` directory. */
function pidOf(agent: string, allocId: string): Promise<number> {
  const file = `${cluster.agentDir(agent)}/allocs/${allocId}/web/local/pid`;
  return eventually(`a pid in ${file}`, () => existsSync(file) && Number(readFileSync(file, 'utf8').trim()));
}

const isRunning = (pid: number): boolean => {
  try {
    return !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
};

const events = (allocId: string): string[] =>
  (cluster.alloc(allocId).TaskStates['web']?.Events ?? []).map((e) => e.Type);

async function logOf(nodeId: string, allocId: string): Promise<string> {
  const request = {
    AllocID: allocId,
    Task: 'web',
    Type: 'stdout',
    Origin: 'start',
    Offset: 0,
    Limit: 65_536,
    WaitMs: 0,
  } as const;
  const answer = await cluster.rpc.ask(readLog, request, { target: nodeId });
  return Buffer.from(answer.Data, 'base64').toString();
}

/** Where the machine can. */
const SECRETS_IN_MEMORY = { WAYBILL_AGENT_SECRETS_IN_MEMORY: 'true' };

const secretsOf = (agent: string, allocId: string) => {
  const directory = `${cluster.agentDir(agent)}/allocs/${allocId}/web/secrets`;
  return {
    directory,
    key: () => readFileSync(`${directory}/key`, 'utf8'),
    inMemory: () => readFileSync('/proc/self/mounts', 'utf8').includes(`waybill-secrets ${directory} tmpfs`),
  };
};

const SERVICE = 'echo $$ > $NOMAD_TASK_DIR/pid; n=0; while :; do echo "beat $n"; n=$((n+1)); sleep 0.05; done';

describe('an agent that is killed', () => {
  it('AG-193, AG-220: killed with SIGKILL and started again, it goes on with the same process, the same logs and no new start', async () => {
    const first = await cluster.startAgent('alpha', SECRETS_IN_MEMORY);
    const node = await cluster.node('alpha');
    const alloc = await cluster.place(node.ID, [shellTask(`echo hidden > $NOMAD_SECRETS_DIR/key; ${SERVICE}`)]);
    await cluster.inStatus(alloc.ID, 'running');
    const pid = await pidOf('alpha', alloc.ID);
    const secrets = secretsOf('alpha', alloc.ID);
    expect(secrets.inMemory()).toBe(node.Attributes['secrets.memory'] === 'true');
    await cluster.endAgent(first, 'SIGKILL');
    expect(isRunning(pid)).toBe(true);

    const second = await cluster.startAgent('alpha', SECRETS_IN_MEMORY);
    expect((await cluster.node('alpha')).ID).toBe(node.ID);
    const before = (await logOf(node.ID, alloc.ID)).length;
    await eventually('the log goes on', async () => (await logOf(node.ID, alloc.ID)).length > before);
    const beats = (await logOf(node.ID, alloc.ID)).trimEnd().split('\n');
    expect(beats).toEqual(beats.map((_, n) => `beat ${n}`));
    expect(await pidOf('alpha', alloc.ID)).toBe(pid);
    expect(events(alloc.ID).filter((type) => type === 'Started')).toHaveLength(1);
    expect([secrets.inMemory(), secrets.key()]).toEqual([node.Attributes['secrets.memory'] === 'true', 'hidden\n']);

    await cluster.stopAlloc(alloc);
    await cluster.inStatus(alloc.ID, 'complete');
    expect(isRunning(pid)).toBe(false);
    expect(events(alloc.ID)).toEqual(['Received', 'Task Setup', 'Started', 'Killing', 'Terminated', 'Killed']);
    await eventually('it is collected', async () => {
      await cluster.rpc.ask(collectAllocs, { AllocID: alloc.ID }, { target: node.ID });
      return true;
    });
    expect([existsSync(secrets.directory), secrets.inMemory()]).toEqual([false, false]);
    await cluster.endAgent(second, 'SIGTERM');
  });

  it('AG-443: a task that ended meanwhile is reported with its real exit code', async () => {
    const first = await cluster.startAgent('beta');
    const node = await cluster.node('beta');
    const line = 'echo $$ > $NOMAD_TASK_DIR/pid; while [ ! -e $NOMAD_TASK_DIR/go ]; do sleep 0.02; done; exit 7';
    const alloc = await cluster.place(node.ID, [shellTask(line, { RestartPolicy: NO_RESTARTS })], { type: 'batch' });
    await cluster.inStatus(alloc.ID, 'running');
    const pid = await pidOf('beta', alloc.ID);
    await cluster.endAgent(first, 'SIGKILL');
    writeFileSync(`${cluster.agentDir('beta')}/allocs/${alloc.ID}/web/local/go`, '');
    await eventually('the task ended', () => !isRunning(pid));

    const second = await cluster.startAgent('beta');
    const ended = await cluster.inStatus(alloc.ID, 'failed');
    const terminated = ended.TaskStates['web']!.Events.find((e) => e.Type === 'Terminated');
    expect(terminated?.ExitCode).toBe(7);
    expect(events(alloc.ID)).not.toContain('Failed Restoring Task');
    await cluster.endAgent(second, 'SIGTERM');
  });

  it('AG-192, AG-201: ended in order its tasks go on; one stopped meanwhile is killed after the first pull', async () => {
    const first = await cluster.startAgent('gamma');
    const node = await cluster.node('gamma');
    const alloc = await cluster.place(node.ID, [shellTask(SERVICE)]);
    await cluster.inStatus(alloc.ID, 'running');
    const pid = await pidOf('gamma', alloc.ID);
    await cluster.endAgent(first, 'SIGTERM');
    expect(isRunning(pid)).toBe(true);
    expect(cluster.alloc(alloc.ID).ClientStatus).toBe('running');
    await cluster.stopAlloc(alloc);
    const second = await cluster.startAgent('gamma');
    await cluster.inStatus(alloc.ID, 'complete');
    expect(isRunning(pid)).toBe(false);
    await cluster.endAgent(second, 'SIGTERM');
  });
});

const NO_RESTARTS = { Attempts: 0, Interval: 1e9, Delay: 0, Mode: 'fail', RenderTemplates: false };
const DEVELOPMENT = { WAYBILL_AGENT_STOP_TASKS_ON_EXIT: 'true' };

describe('an agent that stops its tasks when it ends', () => {
  it('AG-340: ended in order it stops its tasks without an end of the allocation, and runs them again next time', async () => {
    const first = await cluster.startAgent('dev', DEVELOPMENT);
    const node = await cluster.node('dev');
    const alloc = await cluster.place(node.ID, [shellTask(SERVICE)]);
    await cluster.inStatus(alloc.ID, 'running');
    const pid = await pidOf('dev', alloc.ID);
    await cluster.endAgent(first, 'SIGTERM');
    expect(isRunning(pid)).toBe(false);
    expect(cluster.alloc(alloc.ID).ClientStatus).toBe('running');

    const second = await cluster.startAgent('dev', DEVELOPMENT);
    await eventually('it runs again', async () => {
      const again = await pidOf('dev', alloc.ID);
      return again !== pid && isRunning(again);
    });
    const orphan = await pidOf('dev', alloc.ID);
    await cluster.endAgent(second, 'SIGKILL');
    expect(isRunning(orphan)).toBe(true);

    const third = await cluster.startAgent('dev', DEVELOPMENT);
    expect(await pidOf('dev', alloc.ID)).toBe(orphan);
    expect(cluster.alloc(alloc.ID).TaskStates['web']?.Restarts).toBe(0);
    await cluster.endAgent(third, 'SIGTERM');
    expect(isRunning(orphan)).toBe(false);
  });

  it('AG-192: of one that is killed they say more than its pipes hold, and the next one has all of it, in order', async () => {
    const first = await cluster.startAgent('talks', DEVELOPMENT);
    const node = await cluster.node('talks');
    const go = `${cluster.agentDir('talks')}-go`;
    const line = `echo $$ > local/pid; until [ -e "${go}" ]; do sleep 0.1; done; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); echo "line $i"; done`;
    const alloc = await cluster.place(node.ID, [shellTask(line)], { type: 'batch' });
    await cluster.inStatus(alloc.ID, 'running');
    const pid = await pidOf('talks', alloc.ID);
    await cluster.endAgent(first, 'SIGKILL');
    writeFileSync(go, '');
    const written = () => Number(/wchar: (\d+)/.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1]);
    await eventually('it has said about as much as a pipe holds', () => written() > 60_000);
    const second = await cluster.startAgent('talks', DEVELOPMENT);
    await cluster.inStatus(alloc.ID, 'complete');
    const said = readFileSync(`${cluster.agentDir('talks')}/allocs/${alloc.ID}/alloc/logs/web.stdout.0`, 'utf8');
    expect(said).toBe(Array.from({ length: 20_000 }, (_, at) => `line ${at + 1}\n`).join(''));
    await cluster.endAgent(second, 'SIGTERM');
  });
});
