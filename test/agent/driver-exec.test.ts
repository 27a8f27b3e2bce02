import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  DEFAULT_CAPABILITIES,
  DEFAULT_CHROOT,
  ExecDriver,
  NoCgroupsError,
  NoLimitsError,
  TaskCgroups,
  type TaskConfig,
  type TaskHandle,
  TaskLimits,
  TaskOutputs,
} from '@waybill/agent';
import { silentLogger } from '@waybill/telemetry';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeTaskDirectories } from '../support/task-directories.js';
import { eventually } from '../support/wait.js';

const isRoot = process.getuid?.() === 0;

let dir: string;
let outputs: TaskOutputs;
let driver: ExecDriver;
let cgroups: TaskCgroups | NoCgroupsError;
let limits: TaskLimits | NoLimitsError;
let starts = 0;
const handles: TaskHandle[] = [];

const orWhyNot = async <T, E>(found: Promise<T>, why: new (message: string) => E): Promise<T | E> =>
  found.catch((error: unknown) => {
    if (error instanceof why) return error;
    throw error;
  });

const newDriver = (over: Partial<ConstructorParameters<typeof ExecDriver>[0]> = {}): ExecDriver =>
  new ExecDriver({
    runsDir: path.join(dir, 'runs'),
    outputs,
    mhzPerCore: 1_000,
    cgroups,
    chroot: DEFAULT_CHROOT,
    allowedCapabilities: DEFAULT_CAPABILITIES,
    limits,
    ...over,
  });

beforeAll(async () => {
  dir = mkdtempSync(path.join(tmpdir(), 'waybill-exec-'));
  chmodSync(dir, 0o755);
  outputs = new TaskOutputs(path.join(dir, 'collect'), true, silentLogger);
  await outputs.start();
  cgroups = await orWhyNot(TaskCgroups.find(), NoCgroupsError);
  limits = await orWhyNot(TaskLimits.find(), NoLimitsError);
  driver = newDriver();
});
afterAll(async () => {
  for (const handle of handles) await newDriver().destroy(handle, true); // what a test that failed has left
  await outputs.stop();
  rmSync(dir, { recursive: true, force: true });
});

function aTask(config: Record<string, unknown>, over: Partial<TaskConfig> = {}): TaskConfig {
  const id = `task-${++starts}`;
  const paths = makeTaskDirectories(dir, id);
  const temporary = path.join(paths.taskDir, 'tmp');
  mkdirSync(temporary);
  chmodSync(temporary, 0o777);
  chmodSync(paths.secretsDir, 0o700);
  return {
    taskId: id,
    allocId: id,
    task: 'web',
    user: '',
    config,
    env: { PATH: '/usr/local/bin:/usr/bin:/bin' },
    paths,
    logs: { MaxFiles: 10, MaxFileSizeMB: 10, Disabled: false },
    ...over,
  };
}

const shell = (line: string, over: Record<string, unknown> = {}) => ({
  command: '/bin/sh',
  args: ['-c', line],
  ...over,
});

async function started(task: TaskConfig, by = driver): Promise<TaskHandle> {
  const handle = by.prepare(task);
  handles.push(handle);
  await by.start(task, handle);
  return handle;
}

/** What a shell line says, run to its end as a task. */
async function said(line: string, config: Record<string, unknown> = {}, over: Partial<TaskConfig> = {}) {
  const task = aTask(shell(line, config), over);
  const handle = await started(task);
  const end = await driver.wait(task.taskId);
  await driver.destroy(handle, false);
  return { text: read(task, 'web.stdout.0'), errors: read(task, 'web.stderr.0'), end };
}

const read = (task: TaskConfig, name: string): string => {
  const file = path.join(task.paths.logsDir, name);
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
};
/** What of the test, or of a task's root, is mounted where the machine sees it. */
const mountsHere = (): string =>
  readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .filter((line) => line.includes(dir) || line.includes(' /sys/root'))
    .join('\n');
const processesWith = (text: string): string =>
  execFileSync('ps', ['-eo', 'pid,args'], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line.includes(text))
    .join('\n');

/** The users of all processes that have a variable. */
function ownersOf(variable: string): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const owners = pids.flatMap((pid) => {
    try {
      const variables = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
      return variables.includes(variable) ? [statSync(`/proc/${pid}`).uid] : [];
    } catch {
      return []; // it is gone
    }
  });
  return [...new Set(owners)];
}

describe.runIf(isRoot)('exec (needs root)', () => {
  it('AG-280: says that it can, and whether it bounds what tasks take', async () => {
    expect(await driver.fingerprint()).toMatchObject({
      health: 'healthy',
      attributes: { 'driver.exec': '1', 'driver.exec.limits': String(!(limits instanceof NoLimitsError)) },
    });
    const unbounded = newDriver({ limits: new NoLimitsError('none here') });
    expect((await unbounded.fingerprint()).attributes).toMatchObject({ 'driver.exec.limits.missing': 'none here' });
    const poor = newDriver({ chroot: { '/etc': '/etc' } });
    expect(await poor.fingerprint()).toMatchObject({
      health: 'undetected',
      description: 'no directory of the chroot holds mount (util-linux)',
    });
  });

  it('AG-280, AG-221: its root has the directories of the machine for reading, its own, and nothing else', async () => {
    const task = aTask(shell('ls /; pwd; touch /usr/x; touch /local/x /alloc/x /tmp/x && echo written; ls -A /dev'));
    await started(task);
    await driver.wait(task.taskId);
    const [listing, devices] = read(task, 'web.stdout.0').split('written\n') as [string, string];
    const own = ['alloc', 'dev', 'local', 'private', 'proc', 'secrets', 'tmp'];
    const names = listing.trim().split('\n');
    expect(names.pop()).toBe('/');
    const roots = Object.keys(DEFAULT_CHROOT).map((at) => at.split('/')[1] ?? '');
    expect(names.filter((name) => !own.includes(name) && !roots.includes(name))).toEqual([]);
    expect(own.filter((name) => !names.includes(name))).toEqual([]);
    expect(read(task, 'web.stderr.0')).toContain('Read-only file system');
    expect(existsSync(path.join(task.paths.allocDir, 'x'))).toBe(true);
    expect(existsSync(path.join(task.paths.localDir, 'x'))).toBe(true);
    expect(devices.trim().split('\n')).not.toContain('vda');
  });

  it('AG-280: sees no process but its own', async () => {
    const { text } = await said('ls /proc | grep -c "^[0-9]"; ls /private', {}, { user: 'root' });
    expect(Number(text.split('\n')[0])).toBeLessThan(8);
    expect(text.split('\n').slice(1)).toEqual(['machine', '']); // where the machine's root was, empty
  });

  it('AG-280: is nobody without rights, or the user of the task', async () => {
    const ids = 'id -u; id -G; grep -E "^Cap(Eff|Bnd|Amb)|NoNewPrivs" /proc/self/status; cat /secrets/key';
    const task = aTask(shell(ids));
    writeFileSync(path.join(task.paths.secretsDir, 'key'), 'hidden\n', { mode: 0o644 });
    await started(task);
    await driver.wait(task.taskId);
    const text = read(task, 'web.stdout.0').replaceAll('\t', ' ');
    expect(text).toMatch(/^65534\n65534\n/);
    expect(text).toContain('CapEff: 0000000000000000');
    expect(text).toContain('CapAmb: 0000000000000000');
    expect(text).toContain('CapBnd: 00000000a80425fb'.replace('a80425fb', 'a80405fb'));
    expect(text).toContain('NoNewPrivs: 1');
    expect(text).toContain('hidden');
    expect((await said('id -u', {}, { user: 'daemon' })).text).toBe('1\n');
  });

  it('AG-220, AG-221: finds secrets that are a file system of their own, and no programs in them', async () => {
    const task = aTask(
      shell('cat /secrets/key; /secrets/program || echo refused; grep " /secrets " /proc/self/mounts'),
    );
    execFileSync('mount', ['-t', 'tmpfs', 'waybill-secrets', task.paths.secretsDir]);
    try {
      writeFileSync(path.join(task.paths.secretsDir, 'key'), 'hidden\n', { mode: 0o644 });
      writeFileSync(path.join(task.paths.secretsDir, 'program'), '#!/bin/sh\necho ran\n', { mode: 0o755 });
      await started(task);
      await driver.wait(task.taskId);
    } finally {
      execFileSync('umount', [task.paths.secretsDir]);
    }
    expect(read(task, 'web.stdout.0')).toMatch(
      /^hidden\nrefused\nwaybill-secrets \/secrets tmpfs rw,nosuid,nodev,noexec/,
    );
  });

  it('AG-280: has the capabilities that it asks for, if the agent allows them', async () => {
    const line = 'grep -E "^Cap(Eff|Bnd)" /proc/self/status';
    const added = await said(line, { cap_add: ['NET_BIND_SERVICE'], cap_drop: ['all'] });
    expect(added.text.replaceAll('\t', '')).toBe('CapEff:0000000000000400\nCapBnd:0000000000000400\n');
    const root = await said(line, { cap_drop: ['all'] }, { user: 'root' });
    expect(root.text.replaceAll('\t', '')).toBe('CapEff:0000000000000000\nCapBnd:0000000000000000\n');
    expect(() => driver.validate(aTask(shell('true', { cap_add: ['sys_admin', 'kill'] })))).toThrow(
      'driver does not allow the following capabilities: sys_admin',
    );
  });

  it('AG-280: a configuration that does not fit is refused', () => {
    for (const [config, text] of [
      [{}, 'command is required'],
      [{ command: 'x', work_dir: 'rel' }, 'work_dir must be an absolute path'],
      [{ command: 'x', pid_mode: 'other' }, 'pid_mode'],
      [{ command: 'x', comand: 'y' }, 'unknown key "comand" in the configuration of exec'],
    ] as const)
      expect(() => driver.validate(aTask(config))).toThrow(text);
  });

  it('AG-273: a command that is not there is no start; work_dir is where it runs', async () => {
    await expect(started(aTask({ command: 'no-such-program' }))).rejects.toThrow('executable file not found');
    await expect(started(aTask({ command: '/home/../root/x' }))).rejects.toThrow('executable file not found');
    const task = aTask({ command: 'hello.sh', work_dir: '/usr/bin' });
    writeFileSync(path.join(task.paths.localDir, 'hello.sh'), '#!/bin/sh\npwd\n');
    await started(task);
    await driver.wait(task.taskId);
    expect(read(task, 'web.stdout.0')).toBe('/usr/bin\n');
  });

  it('AG-232: has its variables as they are, and what root runs for it has none of them', async () => {
    const odd = {
      LONG: '€'.repeat(43_000),
      LONGER: 'x'.repeat(130_000),
      'NOMAD_META_a.b': 'dotted',
      QUOTED: `it's "two"\nlines $HOME \`x\``,
      LD_PRELOAD: '/local/evil.so',
    };
    const task = aTask({ command: 'env' }, { env: { PATH: '/usr/bin:/bin', ...odd } });
    await started(task);
    await driver.wait(task.taskId);
    const text = read(task, 'web.stdout.0');
    expect(text).toContain('NOMAD_META_a.b=dotted\n');
    expect(text).toContain(`LONG=${odd.LONG}\n`);
    expect(text).toContain(`QUOTED=${odd.QUOTED}\n`);
    expect(text).not.toContain('WAYBILL');
    const waiting = aTask({ command: 'sleep', args: ['7779'] }, { env: { PATH: '/usr/bin:/bin', ...odd } });
    await started(waiting);
    const owners = await eventually('it runs', () => {
      const found = ownersOf('LD_PRELOAD=/local/evil.so');
      return found.length > 0 && found;
    });
    expect(owners).toEqual([65_534]);
    await driver.stop(waiting.taskId, 0, '');
  });

  it('AG-245, AG-256, AG-275: codes and signals are those of the task', async () => {
    expect((await said('echo out; exit 7')).end).toMatchObject({ ExitCode: 7, Signal: 0, OOMKilled: false });
    expect((await said('kill -TERM $$')).end).toMatchObject({ ExitCode: 143, Signal: 15 });
    const task = aTask({ command: 'sleep', args: ['600'] });
    await started(task);
    await driver.stop(task.taskId, 10_000, '');
    expect(await driver.wait(task.taskId)).toMatchObject({ ExitCode: 130, Signal: 2 });
  });

  it('AG-257: nothing outlives it, neither its end nor its kill, and no mount is left', async () => {
    const before = mountsHere();
    const killed = aTask(shell('trap "" INT TERM; setsid sleep 7771 & sleep 7771'));
    const handle = await started(killed);
    const sleeping = () =>
      processesWith('sleep 7771')
        .split('\n')
        .filter((line) => /^\s*\d+ sleep/.test(line));
    await eventually('both run', () => sleeping().length === 2);
    expect(mountsHere()).toBe(before);
    await driver.stop(killed.taskId, 200, 'SIGTERM');
    expect(await driver.wait(killed.taskId)).toMatchObject({ ExitCode: 137, Signal: 9 });
    expect(processesWith('sleep 7771')).toBe('');
    await driver.destroy(handle, false);
    await said('setsid sleep 7772 & exit 0');
    expect(processesWith('sleep 7772')).toBe('');
    expect(mountsHere()).toBe(before);
    expect(existsSync(path.join(killed.paths.taskDir, 'usr/bin'))).toBe(false);
  });

  it('AG-276: another agent takes it up by its handle, with its exit code', async () => {
    const task = aTask(shell('until [ -e /local/go ]; do sleep 0.02; done; exit 5'));
    const handle = JSON.parse(JSON.stringify(await started(task))) as TaskHandle;
    const next = newDriver();
    expect(await next.recover(handle)).toBe(true);
    const beside = await next.exec(task.taskId, task, { command: ['touch', '/local/go'], tty: false });
    expect(await beside.exitCode).toBe(0);
    expect(await next.wait(task.taskId)).toMatchObject({ ExitCode: 5 });
    await next.destroy(handle, false);
  });

  it('AG-277, AG-326: a command beside it sees what it sees, as who it is, and ends with it or when it is given up', async () => {
    const task = aTask(shell('exec sleep 600'), { env: { PATH: '/usr/bin:/bin', GREETING: 'hello' } });
    await started(task);
    const line = 'echo $GREETING; id -u; ls /proc | grep -c "^[0-9]"; cat; exit 3';
    const session = await driver.exec(task.taskId, task, { command: ['sh', '-c', line], tty: false });
    await session.write(Buffer.from('typed'));
    session.closeInput();
    let text = '';
    for (let chunk = await session.read(); chunk; chunk = await session.read())
      text += Buffer.from(chunk.data).toString();
    expect(await session.exitCode).toBe(3);
    expect(text).toMatch(/^hello\n65534\n\d\ntyped$/);
    const given = await driver.exec(task.taskId, task, { command: ['sleep', '7770'], tty: false });
    await eventually('it runs', () => processesWith('sleep 7770'));
    await given.kill(); // AG-326
    await eventually('it is gone', () => processesWith('sleep 7770') === '');
    const long = await driver.exec(task.taskId, task, { command: ['sleep', '7773'], tty: true });
    await eventually('it runs', () => processesWith('sleep 7773'));
    await driver.stop(task.taskId, 0, '');
    expect(await long.exitCode).not.toBe(0);
    await eventually('it is gone, too', () => processesWith('sleep 7773') === '');
  });

  it('AG-278: stats are those of the task', async () => {
    const task = aTask(shell('exec sleep 600'));
    await started(task);
    const { Pids, ResourceUsage } = await driver.stats(task.taskId);
    expect(Object.keys(Pids ?? {})).toHaveLength(1);
    expect(ResourceUsage.MemoryStats.RSS).toBeGreaterThan(0);
    await driver.stop(task.taskId, 0, '');
  });

  it('AG-280: pid_mode and ipc_mode host: sees the processes of the machine, and still leaves none behind', async () => {
    const task = aTask(
      shell(`ls -d /proc/${process.pid}; readlink /proc/self/ns/ipc; sleep 7774 & sleep 7774`, {
        pid_mode: 'host',
        ipc_mode: 'host',
      }),
    );
    await started(task);
    await eventually('it has looked', () => read(task, 'web.stdout.0').includes('ipc:'));
    expect(read(task, 'web.stdout.0')).toContain(`/proc/${process.pid}\n`);
    await driver.stop(task.taskId, 0, '');
    await driver.wait(task.taskId);
    await eventually('nothing is left', () => processesWith('sleep 7774') === '');
  });

  it('AG-280: more memory than it was given ends it, with oom_killed; another one goes on', async (context) => {
    if (limits instanceof NoLimitsError) return context.skip(limits.message);
    const resources = { cpuShares: 100, memoryMB: 32, memoryMaxMB: 0 };
    const fill = 'head -c 400000000 /dev/zero | tail -c 400000000 | tail -c 1';
    expect((await said(`${fill}; exit 9`, {}, { resources })).end).toMatchObject({ ExitCode: 9, OOMKilled: true });
    const small = await said('head -c 1000000 /dev/zero | tail -c 10 | wc -c', {}, { resources });
    expect([small.text, small.end.OOMKilled]).toEqual(['10\n', false]);
    const roomy = await said(fill, {}, { resources: { ...resources, memoryMaxMB: 2_000 } });
    expect(roomy.end).toMatchObject({ ExitCode: 0, OOMKilled: false });
  });

  it('AG-294: a volume is mounted where the task wants it, for reading if anybody says so', async () => {
    const volume = path.join(dir, 'volume');
    mkdirSync(volume);
    chmodSync(volume, 0o777);
    writeFileSync(path.join(volume, 'data'), 'kept\n');
    const mount = { source: volume, destination: '/srv/data', propagation: '' };
    const line = 'cat /srv/data/data; touch /srv/data/new';
    const forReading = await said(line, {}, { mounts: [{ ...mount, readOnly: true }] });
    expect(forReading.text).toBe('kept\n');
    expect(forReading.errors).toContain('Read-only file system');
    expect((await said(line, {}, { mounts: [{ ...mount, readOnly: false }] })).end.ExitCode).toBe(0);
    expect(existsSync(path.join(volume, 'new'))).toBe(true);
  });

  it('AG-294: a link in the place of a mount is not followed', async () => {
    const task = aTask(shell('true'), {
      mounts: [{ source: dir, destination: '/local/out/x', readOnly: true, propagation: '' }],
    });
    execFileSync('ln', ['-s', '/etc', path.join(task.paths.localDir, 'out')]);
    await expect(started(task)).rejects.toThrow('/local/out/x of the task is taken');
    expect(existsSync('/etc/x')).toBe(false);
  });

  it('CW-5: what is mounted in the task is seen outside, if it was asked for; else only there, or not at all', async () => {
    const shared = path.join(dir, 'shared');
    mkdirSync(shared);
    execFileSync('mount', ['-t', 'tmpfs', 'waybill-test', shared]);
    execFileSync('mount', ['--make-shared', shared]);
    const nested = path.join(shared, 'nested');
    mkdirSync(nested);
    execFileSync('mount', ['-t', 'tmpfs', 'nested', nested]);
    const own = ['sys_admin', ...DEFAULT_CAPABILITIES];
    const rights = newDriver({ allowedCapabilities: own });
    try {
      for (const [propagation, isSeen] of [
        ['bidirectional', true],
        ['host-to-task', false],
        ['', false],
      ] as const) {
        mkdirSync(path.join(shared, `at-${propagation}`));
        const line = `mount -t tmpfs inner /plugin/at-${propagation} && touch /plugin/at-${propagation}/file && echo mounted && sleep 600`;
        const mounts = [{ source: shared, destination: '/plugin', readOnly: false, propagation }];
        const task = aTask(shell(line, { cap_add: ['sys_admin'] }), { user: 'root', mounts });
        await started(task, rights);
        const file = path.join(shared, `at-${propagation}`, 'file');
        await eventually('it has mounted', () => read(task, 'web.stdout.0') === 'mounted\n');
        expect([propagation, existsSync(file)]).toEqual([propagation, isSeen]);
        expect(mountsHere()).toContain(` ${nested} `); // the task has left the machine's root, the machine keeps it
        // What the machine mounts is seen inside, unless the mount is private.
        const later = path.join(shared, `later-${propagation}`);
        mkdirSync(later);
        execFileSync('mount', ['-t', 'tmpfs', 'later', later]);
        writeFileSync(path.join(later, 'file'), '');
        const look = ['test', '-e', `/plugin/later-${propagation}/file`] as const;
        const session = await rights.exec(task.taskId, task, { command: [...look], tty: false });
        expect([propagation, await session.exitCode]).toEqual([propagation, propagation === '' ? 1 : 0]);
        await rights.stop(task.taskId, 0, '');
        execFileSync('umount', [later]);
        if (isSeen) execFileSync('umount', [path.dirname(file)]);
      }
    } finally {
      execFileSync('umount', ['-R', shared]);
    }
    const alone = [{ source: '/proc', destination: '/plugin', readOnly: false, propagation: 'bidirectional' }];
    await expect(started(aTask(shell('true'), { mounts: alone }))).rejects.toThrow('is not on a shared mount');
  });

  it('AG-296: without a network it reaches nobody, also by what runs beside it; else it has the network of the machine', async () => {
    const interfaces = 'cut -d: -f1 -s /proc/net/dev | tr -d " "';
    expect((await said(interfaces, {}, { networkMode: 'none' })).text).toBe('lo\n');
    expect((await said(interfaces)).text.split('\n').length).toBeGreaterThan(2);
    const task = aTask(shell('exec sleep 600'), { networkMode: 'none' });
    await started(task);
    const beside = await driver.exec(task.taskId, task, { command: ['sh', '-c', interfaces], tty: false });
    expect(Buffer.from((await beside.read())?.data ?? '').toString()).toBe('lo\n');
    await driver.stop(task.taskId, 0, '');
  });

  it('AG-297: names are looked up as the group says', async () => {
    const dns = { servers: ['192.0.2.1'], searches: ['example.test'], options: ['ndots:2'] };
    const before = readFileSync('/etc/resolv.conf', 'utf8');
    const { text } = await said('cat /etc/resolv.conf', {}, { dns });
    expect(text).toBe('nameserver 192.0.2.1\nsearch example.test\noptions ndots:2\n');
    expect(readFileSync('/etc/resolv.conf', 'utf8')).toBe(before);
  });
});

describe.runIf(!isRoot)('exec (as an ordinary user)', () => {
  it('AG-280: is not detected, and says why', async () => {
    expect(await driver.fingerprint()).toMatchObject({
      health: 'undetected',
      description: 'exec needs an agent that runs as root',
    });
  });
});
