import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { request } from 'node:http';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shellJob } from '../support/api-client.js';
import { hasPseudoTerminal, PseudoTerminal } from '../support/pseudo-terminal.js';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

const BIN = fileURLToPath(new URL('../../apps/cli/bin/waybill.js', import.meta.url));

/** With a command that its author prepared for its one task. */
const withAction = (job: ReturnType<typeof shellJob>): object => {
  const action = { Name: 'count', Command: '/bin/sh', Args: ['-c', 'wc -l; echo "$NOMAD_TASK_NAME" >&2; exit 4'] };
  const { TaskGroups, ...rest } = JSON.parse(JSON.stringify(job)) as { TaskGroups: { Tasks: object[] }[] };
  return {
    ...rest,
    TaskGroups: TaskGroups.map((group) => ({
      ...group,
      Tasks: group.Tasks.map((task) => ({ ...task, Actions: [action] })),
    })),
  };
};

describe('waybill alloc exec and job action', () => {
  let waybill: WaybillProcesses;
  let env: NodeJS.ProcessEnv;

  beforeAll(async () => {
    waybill = await WaybillProcesses.startTogether();
    env = { PATH: process.env['PATH'], WAYBILL_ADDR: waybill.api.url };
    await waybill.api.register(withAction(shellJob('web', 'exec sleep 100000')));
    await eventually('the task runs', async () =>
      (await waybill.api.get<{ ClientStatus: string }[]>('/v1/job/web/allocations')).some(
        ({ ClientStatus }) => ClientStatus === 'running',
      ),
    );
  });
  afterAll(() => waybill?.stop());

  const words = (...more: string[]) => [process.execPath, BIN, 'alloc', 'exec', '-job', ...more];
  function piped(...more: string[]): ChildProcess {
    const [program = '', ...rest] = words(...more);
    return spawn(program, rest, { env, stdio: 'pipe' });
  }
  async function ended(child: ChildProcess, input: string): Promise<{ code: unknown; out: string; err: string }> {
    let [out, err] = ['', ''];
    child.stdout?.on('data', (data) => (out += String(data)));
    child.stderr?.on('data', (data) => (err += String(data)));
    child.stdin?.end(input);
    const [code] = await once(child, 'close');
    return { code, out, err };
  }

  it('CL-432, CL-433: in a pipe: its exit code, both outputs apart, and the end of the input', async () => {
    expect(await ended(piped('web', '/bin/sh', '-c', 'cat; echo oops >&2; exit 7'), 'one\ntwo\n')).toEqual({
      code: 7,
      out: 'one\ntwo\n',
      err: 'oops\n',
    });
    expect(await ended(piped('-i=false', 'web', 'cat'), '')).toMatchObject({ code: 0, out: '' });
    const missing = await ended(piped('web', '/no/such/program'), '');
    expect(missing.code).not.toBe(0);
  });

  it('CL-105, CL-111, CL-431: what stands behind the command is its own; what is wrong is said before anything runs', async () => {
    expect((await ended(piped('web', 'echo', '-help', '-x', '--', '-t'), '')).out).toBe('-help -x -- -t\n');
    expect((await ended(piped('-help', 'web', 'echo'), '')).out).toMatch(/^Usage: waybill alloc exec /);
    for (const [given, message] of [
      [['web'], 'A command is required'],
      [[], 'A job ID is required'],
      [['-e', 'xy', 'web', 'sh'], "-e requires 'none' or a single character"],
      [['-t', '-i=false', 'web', 'sh'], '-i must be enabled if running with tty'],
      [['-task', 'nope', 'web', 'sh'], 'Could not find task named: nope, found:'],
    ] as const) {
      const { code, err } = await ended(piped(...given), '');
      expect([code, err.split('\n')[0]]).toEqual([1, message]);
    }
  });

  it('CL-434: Ctrl-C without terminal mode ends the session, and with it the remote command', async () => {
    const child = piped('web', '/bin/sh', '-c', 'echo $$; exec sleep 4711');
    const [first] = await once(child.stdout!, 'data');
    const pid = Number(String(first).trim());
    child.kill('SIGINT');
    const [code] = await once(child, 'close');
    expect(code).toBe(130);
    await eventually('the command is gone', () => {
      try {
        process.kill(pid, 0);
        return false;
      } catch {
        return true;
      }
    });
  });

  it('CL-344: an action of a job, where it is said or in any of its allocations, as exec would run it', async () => {
    const action = (...more: string[]): ChildProcess =>
      spawn(process.execPath, [BIN, 'action', ...more], { env, stdio: 'pipe' });
    const counted = { code: 4, out: '2\n', err: 'task\n' };
    expect(await ended(action('-job=web', '-group=group', '-task=task', 'count'), 'one\ntwo\n')).toEqual(counted);
    const [alloc] = await waybill.api.get<{ ID: string }[]>('/v1/job/web/allocations');
    expect(await ended(action('-job=we', `-alloc=${alloc!.ID.slice(0, 8)}`, 'count'), 'one\ntwo\n')).toEqual(counted);
    for (const [given, message] of [
      [['-job=web'], 'An action name is required'],
      [['count'], 'A job ID is required'],
      [['-job=web', 'count'], 'A group name is required if no allocation is provided'],
      [['-job=web', '-group=group', 'count'], 'A task name is required if no allocation is provided'],
      [['-job=web', '-group=group', '-task=task', 'no'], 'failed to exec into task: action no not found in task task'],
      [['-job=web', '-group=group', '-task=task', 'count', 'x'], 'This command takes one argument: <action>'],
    ] as const) {
      const { code, err } = await ended(action(...given), '');
      expect([code, err.split('\n')[0]]).toEqual([1, message]);
    }
  });

  it('AG-320: a path that is no percent-encoding is no session, and harms nobody', async () => {
    const url = `${waybill.api.url}/v1/client/allocation/%zz/exec`;
    const headers = { Connection: 'Upgrade', Upgrade: 'websocket' };
    const status = await new Promise((resolve, reject) =>
      request(url, { headers }, (answer) => resolve(answer.resume().statusCode))
        .on('error', reject)
        .end(),
    );
    expect(status).toBe(404);
  });

  describe.runIf(hasPseudoTerminal)('on a terminal (needs `script` of util-linux)', () => {
    it('CL-431, CL-433: a terminal of its own, the exit code, and this one as it was before', async () => {
      const line = `stty -g > /tmp/before.$$; ${words('web', '/bin/sh').join(' ')}; code=$?; stty -g | cmp - /tmp/before.$$ && echo as before; rm /tmp/before.$$; exit $code`;
      const terminal = PseudoTerminal.start(['/bin/sh', '-c', line], env);
      terminal.enter('test -t 0 && echo has-a-$((1 + 1))-terminal');
      await terminal.shows('has-a-2-terminal');
      terminal.enter('exit 5');
      await terminal.shows('as before');
      expect(await terminal.exit()).toBe(5);
    });

    it('CL-433, CL-1109: the escape sequence ends it, and the terminal is as before', async () => {
      const line = `stty -g > /tmp/before.$$; ${words('web', '/bin/sh').join(' ')}; code=$?; stty -g | cmp - /tmp/before.$$ && echo as before; rm /tmp/before.$$; exit $code`;
      const terminal = PseudoTerminal.start(['/bin/sh', '-c', line], env);
      terminal.enter('echo is-up-$((2 + 2))');
      await terminal.shows('is-up-4');
      terminal.enter('echo not ~.');
      await terminal.shows('not ~.');
      terminal.enter('');
      terminal.enter('~.');
      await terminal.shows('Connection closed');
      await terminal.shows('as before');
      expect(await terminal.exit()).toBe(1);
    });
  });
});
