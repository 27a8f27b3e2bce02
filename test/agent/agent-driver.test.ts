import {
  accessSync,
  constants,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  type Denials,
  type Driver,
  type ExecSession,
  NO_DENIALS,
  NoCgroupsError,
  leftRunning,
  RawExecDriver,
  TaskCgroups,
  type TaskConfig,
  type TaskHandle,
  TaskOutputs,
} from '@waybill/agent';
import { silentLogger } from '@waybill/telemetry';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/wait.js';

const NOBODY = 65_534;

let dir: string;
let outputs: TaskOutputs;
let driver: RawExecDriver;
let cgroups: TaskCgroups | NoCgroupsError;
let starts = 0;

beforeAll(async () => {
  dir = mkdtempSync(path.join(tmpdir(), 'waybill-driver-'));
  // The collector is part of this process here; agent-recovery.test.ts has the one that survives.
  outputs = new TaskOutputs(path.join(dir, 'collect'), true, silentLogger);
  await outputs.start();
  cgroups = await TaskCgroups.find().catch((error: unknown) => {
    if (error instanceof NoCgroupsError) return error;
    throw error;
  });
  driver = newDriver();
});
afterAll(async () => {
  await outputs.stop();
  rmSync(dir, { recursive: true, force: true });
});

const newDriver = (enabled = true, denials: Denials = NO_DENIALS, defaultUser = ''): RawExecDriver =>
  new RawExecDriver({
    enabled,
    defaultUser,
    denials,
    runsDir: path.join(dir, 'runs'),
    outputs,
    mhzPerCore: 1_000,
    cgroups,
  });

function aTask(config: Record<string, unknown>, over: Partial<TaskConfig> = {}): TaskConfig {
  const id = `task-${++starts}`;
  const at = (name: string) => path.join(dir, id, name);
  const paths = {
    allocDir: at('alloc'),
    logsDir: at('logs'),
    taskDir: at('task'),
    localDir: at('task/local'),
    secretsDir: at('task/secrets'),
    privateDir: at('task/private'),
  };
  for (const made of Object.values(paths)) mkdirSync(made, { recursive: true });
  return {
    taskId: id,
    allocId: id,
    task: 'web',
    user: '',
    config,
    env: { PATH: process.env['PATH'] ?? '', DIR: paths.taskDir },
    paths,
    logs: { MaxFiles: 10, MaxFileSizeMB: 10, Disabled: false },
    ...over,
  };
}

async function allOf(session: ExecSession): Promise<string> {
  const parts: Uint8Array[] = [];
  for (let output = await session.read(); output; output = await session.read()) parts.push(output.data);
  return Buffer.concat(parts).toString();
}

const shell = (line: string) => ({ command: '/bin/sh', args: ['-c', line] });

async function started(task: TaskConfig, by: Driver = driver): Promise<TaskHandle> {
  const handle = by.prepare(task);
  await by.start(task, handle);
  return handle;
}

const read = (task: TaskConfig, name: string) => readFileSync(path.join(task.paths.logsDir, name), 'utf8');
const isAlive = (pid: number): boolean => {
  try {
    return !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
};
const numberIn = (task: TaskConfig, name: string): Promise<number> =>
  eventually(`a number in ${name}`, () => {
    const file = path.join(task.paths.taskDir, name);
    return existsSync(file) && Number(readFileSync(file, 'utf8').trim());
  });

/** A cgroup of that name in the trees of both versions; undefined: not here. */
function ownTrees(name: string): string[] | undefined {
  const mounted = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' '));
  const roots = [
    mounted.find(([, , type]) => type === 'cgroup2'),
    mounted.find(([, , type, options]) => type === 'cgroup' && options?.split(',').includes('pids')),
  ];
  const made: string[] = [];
  try {
    for (const root of roots) {
      if (!root) throw new Error('there is no such tree');
      const tree = path.join(root[1] ?? '', name);
      mkdirSync(tree, { recursive: true });
      made.push(tree);
      accessSync(path.join(tree, 'cgroup.procs'), constants.W_OK);
    }
    return made;
  } catch {
    for (const tree of made) rmdirSync(tree);
    return undefined;
  }
}

describe('raw_exec', () => {
  it('AG-270: disabled it is not detected and starts nothing; enabled it is healthy', async () => {
    const disabled = newDriver(false);
    expect(await disabled.fingerprint()).toMatchObject({ health: 'undetected', description: 'disabled' });
    await expect(started(aTask(shell('true')), disabled)).rejects.toThrow('raw_exec is disabled');
    expect(await driver.fingerprint()).toMatchObject({ health: 'healthy', attributes: { 'driver.raw_exec': '1' } });
  });

  it('AG-271: oom_score_adj is that of the task and what it starts, and the agent keeps its own', async (context) => {
    if (!existsSync('/proc/self/oom_score_adj')) return context.skip('this machine has no oom_score_adj');
    const task = aTask({
      ...shell('cat /proc/self/oom_score_adj; sh -c "cat /proc/self/oom_score_adj"'),
      oom_score_adj: 300,
    });
    const before = readFileSync('/proc/self/oom_score_adj', 'utf8');
    await started(task);
    await driver.wait(task.taskId);
    expect(read(task, 'web.stdout.0')).toBe('300\n300\n');
    expect(readFileSync('/proc/self/oom_score_adj', 'utf8')).toBe(before);
  });

  it('AG-271: it is in the cgroups that its job names, or does not start', async (context) => {
    const trees = ownTrees('waybill-test');
    if (!trees) return context.skip('this machine lets nobody make cgroups of both versions');
    try {
      const second = aTask({ ...shell('cat /proc/self/cgroup'), cgroup_v2_override: '/waybill-test' });
      const first = aTask({ ...shell('cat /proc/self/cgroup'), cgroup_v1_override: [{ pids: 'waybill-test' }] });
      for (const task of [second, first]) {
        await started(task);
        await driver.wait(task.taskId);
      }
      expect(read(second, 'web.stdout.0')).toContain('0::/waybill-test\n');
      expect(read(first, 'web.stdout.0')).toContain(':pids:/waybill-test\n');
      const starting = (config: object) => started(aTask({ ...shell('true'), ...config }));
      const none = (what: string) => `cgroup override: "none" is no cgroup of ${what} that this agent can use`;
      await expect(starting({ cgroup_v2_override: 'none' })).rejects.toThrow(none('cgroup2'));
      await expect(starting({ cgroup_v1_override: { pids: 'none' } })).rejects.toThrow(none('pids'));
      await expect(starting({ cgroup_v2_override: '../../../tmp' })).rejects.toThrow('is no cgroup of cgroup2');
      await expect(starting({ cgroup_v1_override: { nothing: 'x' } })).rejects.toThrow(
        'cgroup override: no file system of nothing is mounted on this machine',
      );
    } finally {
      for (const tree of trees) rmdirSync(tree);
    }
  });

  it('AG-445: what runs below its directory is found without any record of it', async () => {
    const task = aTask(shell('echo $$ > $DIR/pid; exec sleep 600'));
    const handle = await started(task);
    const pid = await numberIn(task, 'pid');
    expect(await leftRunning(path.join(dir, 'runs'))).toContainEqual({ allocId: task.allocId, pid });
    await driver.destroy(handle, true);
    expect((await leftRunning(path.join(dir, 'runs'))).map((one) => one.pid)).not.toContain(pid);
  });

  it('AG-271: a configuration that does not fit is refused', () => {
    const cases: [Record<string, unknown>, string][] = [
      [{}, 'command is required'],
      [{ command: 'x', work_dir: 'rel' }, 'work_dir must be an absolute path'],
      [{ command: 'x', oom_score_adj: -1 }, 'oom_score_adj must not be negative'],
      [{ command: 'x', oom_score_adj: 1001 }, 'oom_score_adj must be a whole number of at most 1000'],
      [{ command: 'x', cgroup_v2_override: {} }, 'cgroup_v2_override must be the path of a cgroup'],
      [{ command: 'x', cgroup_v1_override: [{ pids: 1 }] }, 'cgroup_v1_override must name the path of a cgroup'],
      [
        { command: 'x', cgroup_v1_override: {}, cgroup_v2_override: 'x' },
        'only one of cgroups_v1_override and cgroups_v2_override may be set',
      ],
      [{ command: 'x', comand: 'y' }, 'unknown key "comand"'],
      [{ command: 'x', args: 'y' }, 'args must be a list of strings'],
      [{ command: 'x', args: [['y']] }, 'args must be a list of strings'],
    ];
    for (const [config, text] of cases) expect(() => driver.validate(aTask(config))).toThrow(text);
  });

  it('AG-272: refuses users that are denied, the agent’s own too, and hides variables from tasks and their commands', async () => {
    const [uid, gid] = [process.getuid!(), process.getgid!()];
    const refused = { uids: [[uid, uid]], gids: [], variables: [] } as const;
    await expect(started(aTask(shell('true')), newDriver(true, refused))).rejects.toThrow(
      `running as uid ${uid} is disallowed`,
    );
    const byGroup = { uids: [[uid + 1, uid + 9]], gids: [[0, gid]], variables: [] } as const;
    await expect(started(aTask(shell('true')), newDriver(true, byGroup))).rejects.toThrow(
      `running as gid ${gid} is disallowed`,
    );
    const hiding = newDriver(true, { uids: [], gids: [], variables: ['AWS_*', 'TOKEN'] });
    const env = { PATH: process.env['PATH'] ?? '', AWS_KEY: 'a', TOKEN: 'b', TOKENS: 'c', MINE: 'd', LAWS_: 'e' };
    const task = aTask({ ...shell('env; sleep 0.1'), denied_envvars: ['MI*'] }, { env });
    const { taskId } = await started(task, hiding);
    const beside = await hiding.exec(taskId, task, { command: ['/usr/bin/env'], tty: false });
    expect(await allOf(beside)).not.toMatch(/AWS_KEY|TOKEN=|MINE/);
    await hiding.wait(taskId);
    const seen = read(task, 'web.stdout.0');
    expect(seen).toMatch(/^TOKENS=c$/m);
    expect(seen).toMatch(/^LAWS_=e$/m);
    expect(seen).not.toMatch(/AWS_KEY|TOKEN=|MINE/);
  });

  it('AG-273: finds the command in local, in the task directory, as a path, in $PATH; makes a script executable', async () => {
    const task = aTask({ command: 'hello.sh' });
    const script = path.join(task.paths.localDir, 'hello.sh');
    writeFileSync(script, '#!/bin/sh\necho from local\n');
    chmodSync(script, 0o644);
    await started(task);
    await driver.wait(task.taskId);
    expect(read(task, 'web.stdout.0')).toBe('from local\n');
    const byPath = aTask({ command: 'env' });
    await started(byPath);
    expect((await driver.wait(byPath.taskId)).ExitCode).toBe(0);
    await expect(started(aTask({ command: 'no-such-program' }))).rejects.toMatchObject({ recoverable: false });
    await expect(started(aTask({ command: '../../escape' }))).rejects.toThrow('executable file not found');
  });

  it('AG-222, AG-274: runs in the task directory, in a process group of its own, with the environment as built', async () => {
    const task = aTask(shell('pwd; cut -d" " -f1,5 /proc/$$/stat; tr "\\0" "\\n" < /proc/$$/environ'), {
      env: { PATH: process.env['PATH'] ?? '', ONLY: 'this' },
    });
    await started(task);
    await driver.wait(task.taskId);
    const [cwd, ids, ...env] = read(task, 'web.stdout.0').trim().split('\n');
    expect(cwd).toBe(task.paths.taskDir);
    const [pid, group] = ids!.split(' ');
    expect(group).toBe(pid);
    expect(env).toContain('ONLY=this');
    // What a shell adds by itself; nothing of this process.
    expect(env.filter((line) => !/^(PATH|ONLY|PWD|OLDPWD|SHLVL|_)=/.test(line))).toEqual([]);
  });

  it('AG-274: no variable is lost or changed, whatever its name; what cannot be one is told without its value', async () => {
    const env = {
      PATH: process.env['PATH'] ?? '',
      ...Object.fromEntries(
        ['run', 'pid', 'place', 'watch', 'adj', 'stat', 'n', 'IFS', 'OPTIND'].map((name) => [name, 'mine']),
      ),
      'NOMAD_META_a.b': 'dotted',
      'NOMAD_HOST_IP_a-b': 'dashed',
      '-x': 'an option',
      '1st': `it's "two"\nlines $HOME \`x\``,
      LONG: 'ü'.repeat(60_000),
      LONGER: '€'.repeat(43_000),
    };
    const print = 'process.stdout.write(JSON.stringify(process.env))';
    const task = aTask({ command: process.execPath, args: ['-e', print] }, { env });
    await started(task);
    expect(await driver.wait(task.taskId)).toMatchObject({ ExitCode: 0 });
    const seen = JSON.parse(readFileSync(path.join(task.paths.logsDir, 'web.stdout.0'), 'utf8')) as Record<
      string,
      string
    >;
    expect(seen).toMatchObject(env);
    expect(Object.keys(seen).filter((name) => name.startsWith('WAYBILL'))).toEqual([]);
    const secret = { env: { KEY: 'hidden\0' } };
    const refused = await started(aTask(shell('true'), secret)).catch((error: unknown) => String(error));
    expect(refused).toContain('variable "KEY" of the task holds a zero byte');
    expect(refused).not.toContain('hidden');
    const tooLong = { env: { KEY: 'x'.repeat(128 * 1024) } };
    await expect(started(aTask(shell('true'), tooLong))).rejects.toThrow('variable "KEY" of the task is longer than');
  });

  it('AG-271: numbers and truth values among the arguments are what they are written as; its work_dir is there', async () => {
    const task = aTask({ command: 'echo', args: ['-p', 8080, true] });
    await started(task);
    await driver.wait(task.taskId);
    expect(read(task, 'web.stdout.0')).toBe('-p 8080 true\n');
    const nowhere = aTask({ command: 'echo', work_dir: '/not/there' });
    await expect(started(nowhere)).rejects.toThrow('work_dir "/not/there" is no directory of this machine');
  });

  it.runIf(process.getuid?.() === 0)(
    'AG-220, AG-274: runs as the user of the task, who alone reads its secrets (needs root)',
    async () => {
      const task = aTask(shell('id -u; cat $DIR/secrets/key'), { user: 'nobody' });
      await expect(started(task)).rejects.toThrow(`may not enter ${dir} (mode 700), which leads to the directory`);
      for (const above of [dir, path.dirname(task.paths.taskDir)]) chmodSync(above, 0o755);
      writeFileSync(path.join(task.paths.secretsDir, 'key'), 'hidden\n');
      chmodSync(task.paths.secretsDir, 0o700);
      await started(task);
      await driver.wait(task.taskId);
      expect(read(task, 'web.stdout.0')).toBe('65534\nhidden\n');
      const other = aTask(shell(`cat ${task.paths.secretsDir}/key`), { user: 'daemon' });
      await started(other);
      await driver.wait(other.taskId);
      expect(read(other, 'web.stderr.0')).toContain('Permission denied');
      await expect(started(aTask(shell('true'), { user: 'no-such-user' }))).rejects.toThrow('failed to find the user');
    },
  );

  it.runIf(process.getuid?.() === 0)(
    'AG-274: a task whose job names no user runs as the default user of the machine (needs root)',
    async () => {
      const unprivileged = newDriver(true, { ...NO_DENIALS, uids: [[0, 0]] }, 'nobody');
      const task = aTask(shell('id -u; id -G; cat $DIR/secrets/key'));
      for (const above of [dir, path.dirname(task.paths.taskDir)]) chmodSync(above, 0o755);
      writeFileSync(path.join(task.paths.secretsDir, 'key'), 'hidden\n');
      chmodSync(task.paths.secretsDir, 0o700);
      await started(task, unprivileged);
      await unprivileged.wait(task.taskId);
      expect(read(task, 'web.stdout.0')).toBe('65534\n65534\nhidden\n');
      const root = aTask(shell('true'), { user: 'root' });
      await expect(started(root, unprivileged)).rejects.toThrow('running as uid 0 is disallowed');
      const named = aTask(shell('id -u'), { user: 'daemon' });
      chmodSync(path.dirname(named.paths.taskDir), 0o755);
      await started(named, unprivileged);
      await unprivileged.wait(named.taskId);
      expect(read(named, 'web.stdout.0')).toBe('1\n');
    },
  );

  it('AG-270: a machine without the default user does not offer the driver, and says why', async () => {
    expect(await newDriver(true, NO_DENIALS, 'no-such-user').fingerprint()).toEqual({
      health: 'undetected',
      description: 'WAYBILL_RAW_EXEC_USER: failed to find the user "no-such-user"',
      attributes: {},
    });
  });

  it.runIf(process.getuid?.() === 0)(
    'AG-270: an agent that is not root and has another default user does not offer the driver (needs root)',
    async () => {
      process.seteuid!(NOBODY);
      try {
        expect(await newDriver(true, NO_DENIALS, 'daemon').fingerprint()).toMatchObject({
          health: 'undetected',
          description: 'the agent is not root, so no task can run as WAYBILL_RAW_EXEC_USER "daemon"',
        });
        expect(await newDriver(true, NO_DENIALS, 'nobody').fingerprint()).toMatchObject({ health: 'healthy' });
      } finally {
        process.seteuid!(0);
      }
    },
  );

  it('AG-245, AG-251: exit code, and all output in the files when the end is told', async () => {
    const task = aTask(shell('echo out; echo err >&2; exit 3'));
    await started(task);
    expect(await driver.wait(task.taskId)).toEqual({ ExitCode: 3, Signal: 0, OOMKilled: false, Err: '' });
    expect([read(task, 'web.stdout.0'), read(task, 'web.stderr.0')]).toEqual(['out\n', 'err\n']);
    expect(await driver.wait(task.taskId)).toMatchObject({ ExitCode: 3 });
  });

  it('AG-240, AG-241: floods of output are rotated without losing a line', async () => {
    const task = aTask(
      shell(
        'i=0; while [ $i -lt 60000 ]; do echo "line $i ........................................................"; i=$((i+1)); done',
      ),
      {
        logs: { MaxFiles: 100, MaxFileSizeMB: 1, Disabled: false },
      },
    );
    await started(task);
    await driver.wait(task.taskId);
    const names = readdirSync(task.paths.logsDir).filter((name) => name.startsWith('web.stdout.'));
    expect(names.length).toBeGreaterThan(2);
    const lines = names
      .toSorted((a, b) => Number(a.slice(11)) - Number(b.slice(11)))
      .map((name) => read(task, name))
      .join('')
      .trimEnd()
      .split('\n');
    expect(lines).toHaveLength(60_000);
    expect(lines.every((line, n) => line.startsWith(`line ${n} `))).toBe(true);
  });

  it('AG-244: disabled logs write nothing', async () => {
    const task = aTask(shell('echo out'), { logs: { MaxFiles: 1, MaxFileSizeMB: 1, Disabled: true } });
    await started(task);
    expect((await driver.wait(task.taskId)).ExitCode).toBe(0);
    expect(readdirSync(task.paths.logsDir)).toEqual([]);
  });

  it('AG-256: killed by a signal it has code 128 + S and the signal', async () => {
    const task = aTask(shell('kill -TERM $$'));
    await started(task);
    expect(await driver.wait(task.taskId)).toMatchObject({ ExitCode: 143, Signal: 15 });
  });

  it('AG-275: the kill signal is SIGINT by default, and another one if asked for', async () => {
    for (const [signal, code] of [
      ['', 130],
      ['SIGTERM', 143],
      ['usr1', 138],
    ] as const) {
      const task = aTask({ command: 'sleep', args: ['600'] });
      await started(task);
      await driver.stop(task.taskId, 10_000, signal);
      expect(await driver.wait(task.taskId)).toMatchObject({ ExitCode: code });
    }
  });

  it('AG-252, AG-257, AG-275: one that ignores the signal is killed after the timeout, with everything in its group', async () => {
    const task = aTask(
      shell('trap "" INT TERM; (trap "" INT TERM; sleep 600) & echo $! > $DIR/child; sleep 600 & wait; sleep 600'),
    );
    await started(task);
    const child = await numberIn(task, 'child');
    const before = performance.now();
    await driver.stop(task.taskId, 300, 'SIGINT');
    expect(performance.now() - before).toBeGreaterThanOrEqual(290);
    expect(await driver.wait(task.taskId)).toMatchObject({ ExitCode: 137, Signal: 9 });
    await eventually('the child is gone', () => !isAlive(child));
  });

  it('AG-257: what a task leaves behind in its group ends with it', async () => {
    const task = aTask(shell('sleep 600 & echo $! > $DIR/child; exit 0'));
    await started(task);
    expect((await driver.wait(task.taskId)).ExitCode).toBe(0);
    const child = await numberIn(task, 'child');
    await eventually('the child is gone', () => !isAlive(child));
  });

  it('AG-257: what starts a session of its own does not escape, neither by the end of the task nor by its kill', async (context) => {
    if (cgroups instanceof NoCgroupsError) return context.skip(cgroups.message);
    const escape =
      'setsid sh -c "echo \\$\\$ > escaped; exec sleep 1000" & while [ ! -s escaped ]; do sleep 0.01; done';
    for (const [line, stop] of [
      [escape, false],
      [`${escape}; exec sleep 1000`, true],
    ] as const) {
      const task = aTask(shell(line));
      await started(task);
      const escaped = await numberIn(task, 'escaped');
      if (stop) await driver.stop(task.taskId, 0, 'SIGTERM');
      await driver.wait(task.taskId);
      expect(isAlive(escaped)).toBe(false);
    }
    expect(await driver.fingerprint()).toMatchObject({ attributes: { 'driver.raw_exec.cgroups': 'true' } });
  });

  it('cgroups that another user has made are none', async (context) => {
    if (cgroups instanceof NoCgroupsError) return context.skip(cgroups.message);
    if (process.getuid?.() !== 0) return context.skip('only root can become another user');
    process.seteuid!(NOBODY);
    try {
      await expect(TaskCgroups.find()).rejects.toThrow(NoCgroupsError);
    } finally {
      process.seteuid!(0);
    }
  });

  it('without cgroups the machine says why, and tasks run', async () => {
    const reason = new NoCgroupsError('none here');
    const options = { enabled: true, defaultUser: '', runsDir: path.join(dir, 'runs'), outputs, mhzPerCore: 1_000 };
    const without = new RawExecDriver({ ...options, denials: NO_DENIALS, cgroups: reason });
    const attributes = { 'driver.raw_exec.cgroups': 'false', 'driver.raw_exec.cgroups.missing': 'none here' };
    expect(await without.fingerprint()).toMatchObject({ health: 'healthy', attributes });
    const task = aTask(shell('exit 4'));
    await started(task, without);
    expect(await without.wait(task.taskId)).toMatchObject({ ExitCode: 4 });
  });

  it('AG-275: timeout 0 kills at once', async () => {
    const task = aTask({ command: 'sleep', args: ['600'] });
    await started(task);
    await driver.stop(task.taskId, 0, 'SIGINT');
    expect(await driver.wait(task.taskId)).toMatchObject({ Signal: 9 });
  });

  it('AG-251, AG-253, AG-258: destroy, unknown tasks, unknown signals', async () => {
    const task = aTask({ command: 'sleep', args: ['600'] });
    const handle = await started(task);
    await expect(driver.destroy(handle, false)).rejects.toThrow('cannot destroy running task');
    await expect(driver.stop(task.taskId, 10, 'SIGNONSENSE')).rejects.toThrow('SIGNONSENSE');
    await driver.signal(task.taskId, 'SIGNONSENSE');
    expect(await driver.wait(task.taskId)).toMatchObject({ Signal: 2 });
    await driver.destroy(handle, false);
    await expect(driver.wait(task.taskId)).rejects.toThrow('task not found');
    await expect(driver.stop(task.taskId, 10, '')).rejects.toThrow('task not found');
  });

  it('AG-276: a driver that knows only the handle takes the task up and gets its real exit code', async () => {
    const task = aTask(shell('while [ ! -e $DIR/go ]; do sleep 0.02; done; exit 5'));
    const handle = JSON.parse(JSON.stringify(await started(task))) as TaskHandle;
    const next = newDriver();
    expect(await next.recover(handle)).toBe(true);
    expect(await next.recover(handle)).toBe(true);
    writeFileSync(path.join(task.paths.taskDir, 'go'), '');
    expect(await next.wait(task.taskId)).toMatchObject({ ExitCode: 5 });
  });

  it('AG-440: a handle whose start had not begun is no task, and never becomes one', async () => {
    const task = aTask(shell('touch $DIR/ran'));
    const handle = driver.prepare(task);
    const next = newDriver();
    expect(await next.recover(handle)).toBe(false);
    await expect(driver.start(task, handle)).rejects.toThrow();
    expect(existsSync(path.join(task.paths.taskDir, 'ran'))).toBe(false);
  });

  it('AG-195: a run that ended before its own command began, because its agent went, is no task', async () => {
    const task = aTask(shell('exit 0'));
    const handle = await started(task);
    await driver.wait(task.taskId);
    const record = path.join(dir, 'runs', String(handle.state['run']), 'process');
    const lines = readFileSync(record, 'utf8').split('\n');
    expect(lines).toEqual([expect.stringMatching(/^\d+ \S+ \S+ end$/), 'started', '']);
    expect(await newDriver().recover(handle)).toBe(true);
    writeFileSync(record, `${lines[0]}\n`);
    expect(await newDriver().recover(handle)).toBe(false);
  });

  it('AG-203: a handle from before a reboot is no task', async () => {
    const task = aTask({ command: 'sleep', args: ['600'] });
    const handle = await started(task);
    const record = path.join(dir, 'runs', String(handle.state['run']), 'process');
    const [pid, ticks] = readFileSync(record, 'utf8').split(' ');
    writeFileSync(record, `${pid} ${ticks} another-boot end\nstarted\n`);
    expect(await newDriver().recover(handle)).toBe(false);
    await driver.stop(task.taskId, 0, '');
  });
});
