import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { FakeTime, type Timers } from '@waybill/model';
import type { ExecReadResponse } from '@waybill/rpc';
import { systemTimers } from '@waybill/service';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { identityOf } from '@waybill/processes';
import { aTask, FOREVER, setup } from '../../fixtures/running-allocation.js';
import { beginExec } from './begin-exec.js';
import { RemoteExec, MAX_READ_WAIT_MS, PEER_TIMEOUT_MS } from './remote-exec.js';
import { MAX_QUEUED_OUTPUT_BYTES } from './output-queue.js';
import { execProcess } from './process-exec.transport.js';

let dir: string;
let sessions: RemoteExec;
beforeEach(async () => void (dir = await mkdtemp(path.join(tmpdir(), 'waybill-exec-'))));
afterEach(async () => {
  await sessions.stop();
  await rm(dir, { recursive: true, force: true });
});

/** Returns sessions of real processes in a directory of their own. */
function real(timers: Timers = systemTimers): RemoteExec {
  let ids = 0;
  return (sessions = new RemoteExec({
    timers,
    newId: () => `s${ids++}`,
    begin: ({ Command: [file = '', ...args], Tty: tty }) =>
      execProcess({ file, args, cwd: dir, env: { PATH: process.env['PATH'] ?? '' }, user: undefined, tty }),
  }));
}

const start = async (Command: string[], Tty = false): Promise<string> =>
  (await sessions.start({ AllocID: 'a', Task: 'web', Command, Tty })).SessionID;

const write = (SessionID: string, text: string, Close = false) =>
  sessions.write({ SessionID, Data: Buffer.from(text).toString('base64'), Close, Size: null });

/** Returns all output by stream, and the exit code. */
async function drained(SessionID: string) {
  const text = { stdout: '', stderr: '' };
  for (;;) {
    const { Chunks, ExitCode }: ExecReadResponse = await sessions.readOutput({ SessionID });
    for (const { Stream, Data } of Chunks) text[Stream] += Buffer.from(Data, 'base64').toString();
    if (ExitCode !== null) return { ...text, ExitCode };
  }
}

const isThere = (pid: number): boolean => identityOf(pid) !== undefined;

/** Returns the process id that a command writes to this file, as soon as it is there. */
async function pidIn(name: string): Promise<number> {
  const read = () => readFile(path.join(dir, name), 'utf8').catch(() => '');
  await expect.poll(read).toMatch(/\d\n$/);
  return Number(await read());
}

describe('commands beside a task', () => {
  it('AG-277, AG-323: both outputs whole, then the exit code', async () => {
    real();
    const id = await start(['sh', '-c', 'pwd; echo wrong >&2; seq 1 100000; exit 7']);
    const { stdout, stderr, ExitCode } = await drained(id);
    expect([ExitCode, stderr]).toEqual([7, 'wrong\n']);
    expect(stdout.split('\n').slice(0, 2)).toEqual([dir, '1']);
    expect(stdout.endsWith('\n99999\n100000\n')).toBe(true);
    expect(sessions.count).toBe(0);
  });

  it('AG-454: one that ends at once still delivers its output and exit code', async () => {
    real();
    const id = await start(['echo', 'hi']);
    expect(await drained(id)).toEqual({ stdout: 'hi\n', stderr: '', ExitCode: 0 });
  });

  it('AG-321: input arrives, and its end', async () => {
    real();
    const id = await start(['cat']);
    await write(id, 'one ');
    await write(id, 'two', true);
    expect(await drained(id)).toMatchObject({ stdout: 'one two', ExitCode: 0 });
  });

  it('a command that a signal ended', async () => {
    real();
    expect(await drained(await start(['sh', '-c', 'kill -9 $$']))).toMatchObject({ ExitCode: 137 });
  });

  it('what nobody reads holds the command up', async () => {
    real();
    const id = await start(['sh', '-c', 'yes & echo $! > yes.pid; wait']);
    const pid = await pidIn('yes.pid');
    const ticks = async (): Promise<string> =>
      (await readFile(`/proc/${pid}/stat`, 'utf8')).split(' ').slice(13, 15).join();
    let before = '';
    const isHeld = async (): Promise<boolean> => {
      const last = before;
      before = await ticks();
      return before === last;
    };
    await expect.poll(isHeld, { interval: 200 }).toBe(true);
    await sessions.end(id);
    await expect.poll(() => isThere(pid)).toBe(false);
  });

  it('AG-322, AG-321: a terminal has a size, echoes, and everything comes as stdout', async () => {
    real();
    const id = await start(['sh'], true);
    await sessions.write({ SessionID: id, Data: '', Close: false, Size: { Height: 33, Width: 101 } });
    await write(id, 'test -t 0 && stty size; echo bad >&2; exit 3\n');
    const { stdout, stderr, ExitCode } = await drained(id);
    expect(stdout).toContain('33 101\r\n');
    expect(stdout).toContain('\nbad\r\n');
    expect([stderr, ExitCode]).toEqual(['', 3]);
  });

  const inTerminal = (line: string) =>
    execProcess({
      file: '/bin/sh',
      args: ['-c', line],
      cwd: dir,
      env: { PATH: process.env['PATH'] ?? '' },
      user: undefined,
      tty: true,
    });

  it('AG-321: a window that changes its size, or somebody who types, when a terminal has ended is no failure', async () => {
    real();
    const session = await inTerminal('exit 3');
    expect(await session.exitCode).toBe(3);
    expect(() => session.resize({ height: 10, width: 10 })).not.toThrow();
    await session.write(Buffer.from('typed'));
    expect(() => session.closeInput()).not.toThrow();
    await session.kill();
  });

  it('AG-321: a terminal whose program does not read holds up who types, and nobody else', async () => {
    real();
    const session = await inTerminal('stty raw -echo; echo ready; exec sleep 60');
    await session.read();
    let isDone = false;
    const typing = session.write(Buffer.alloc(1024 * 1024, 'x')).then(() => (isDone = true));
    expect(await (await inTerminal('exit 0')).exitCode).toBe(0);
    expect(isDone).toBe(false);
    await session.kill();
    await typing;
  });

  it('AG-323: what a terminal has shown is there for a reader who comes after its end', async () => {
    real();
    // The output is 6 KiB more than the queue can hold. Only the line itself can keep it.
    const session = await inTerminal('seq 1 40000; exit 4');
    expect(await session.exitCode).toBe(4);
    let text = '';
    for (let chunk = await session.read(); chunk; chunk = await session.read())
      text += Buffer.from(chunk.data).toString();
    expect(text.length).toBeGreaterThan(MAX_QUEUED_OUTPUT_BYTES);
    expect(text.endsWith('\r\n39999\r\n40000\r\n')).toBe(true);
  });

  it.each([true, false])(
    'AG-326: a peer that vanishes takes the command and all its jobs along (terminal: %s)',
    async (tty) => {
      const time = new FakeTime();
      real(time);
      const id = await start(['sh', '-c', 'set -m; sleep 300 & echo $! > job.pid; wait'], tty);
      const pid = await pidIn('job.pid');
      await time.pass(PEER_TIMEOUT_MS - 1);
      expect(isThere(pid)).toBe(true);
      await time.pass(1);
      await expect.poll(() => isThere(pid)).toBe(false);
      await expect(sessions.readOutput({ SessionID: id })).rejects.toThrow('this session has ended');
    },
  );

  it('AG-326: a command that begins while the agent ends is ended too', async () => {
    real();
    const starting = start(['sh', '-c', 'echo $$ > own.pid; exec sleep 300']);
    await sessions.stop();
    await expect(starting).rejects.toThrow('the agent of this machine ends');
    const pid = Number(await readFile(path.join(dir, 'own.pid'), 'utf8').catch(() => '0'));
    expect([sessions.count, pid > 0 && isThere(pid)]).toEqual([0, false]);
  });

  it('AG-326: a peer that vanishes takes along what has closed its output and runs on', async () => {
    const time = new FakeTime();
    real(time);
    const id = await start(['sh', '-c', 'echo $$ > own.pid; exec >&- 2>&-; exec sleep 300']);
    const pid = await pidIn('own.pid');
    const reading = sessions.readOutput({ SessionID: id });
    await expect
      .poll(async () => {
        await time.pass(MAX_READ_WAIT_MS);
        return await Promise.race([reading, Promise.resolve('waiting')]);
      })
      .toEqual({ Chunks: [], ExitCode: null });
    await time.pass(PEER_TIMEOUT_MS);
    await expect.poll(() => isThere(pid)).toBe(false);
    expect(sessions.count).toBe(0);
  });

  it.each([true, false])(
    'AG-324: a command that is not there is an error, not a session (terminal: %s)',
    async (tty) => {
      real();
      await expect(start(['/no/such/command'], tty)).rejects.toThrow('executable file not found: /no/such/command');
      await expect(start(['/usr'], tty)).rejects.toThrow('executable file not found: /usr');
      const script = path.join(dir, 'script');
      await writeFile(script, '#!/no/such/shell -e\n', { mode: 0o755 });
      await expect(start([script], tty)).rejects.toThrow(
        `${script} cannot be run: its interpreter /no/such/shell is missing`,
      );
      const gone = { file: '/bin/sh', args: [], cwd: path.join(dir, 'gone'), env: {}, user: undefined, tty };
      await expect(execProcess(gone)).rejects.toThrow(
        `/bin/sh cannot be run in ${gone.cwd}: there is no such directory`,
      );
      expect(sessions.count).toBe(0);
    },
  );
});

describe('commands in tasks that pretend', () => {
  const allocated = (Config: Record<string, unknown>, enabled = true) => {
    const alloc = setup([aTask('web', { ...FOREVER, ...Config }), aTask('done', {})]);
    const agent = { runnerOf: (id: string) => (id === alloc.alloc.ID ? alloc.runner : undefined) };
    sessions = new RemoteExec({
      timers: alloc.time,
      newId: () => 's',
      begin: (request) => beginExec({ agent, enabled }, request),
    });
    const ask = (Task: string, Command: string[], AllocID = alloc.alloc.ID) =>
      sessions.start({ AllocID, Task, Command, Tty: false });
    return { ...alloc, ask };
  };

  it('AG-324: why not, in the words of the contract', async () => {
    const { time, runner, ask } = allocated({});
    await expect(ask('web', ['x'])).rejects.toThrow('task "web" not started yet.');
    runner.runAllocation();
    await time.pass(10);
    await expect(ask('', ['x'])).rejects.toThrow('must provide task name');
    await expect(ask('web', [])).rejects.toThrow('command is not present');
    await expect(ask('none', ['x'])).rejects.toThrow('unknown task name "none"');
    await expect(ask('done', ['x'])).rejects.toThrow('task "done" is not running.');
    await expect(ask('web', ['x'], 'other')).rejects.toThrow('Unknown allocation "other"');
    await expect(ask('web', ['x'])).rejects.toThrow('no exec command is configured');
  });

  it('AG-325: switched off it is denied', async () => {
    const { time, runner, ask } = allocated({ exec_command: {} }, false);
    runner.runAllocation();
    await time.pass(10);
    await expect(ask('web', ['x'])).rejects.toThrow('Permission denied');
  });

  it('AG-264: showinput shows what came; otherwise what is configured', async () => {
    const { time, runner, ask } = allocated({ exec_command: { stdout_string: 'out', exit_code: 4 } });
    runner.runAllocation();
    await time.pass(10);
    const { SessionID } = await ask('web', ['showinput']);
    await write(SessionID, 'typed', true);
    expect(await drained(SessionID)).toEqual({ stdout: 'TTY: false\nStdin:\ntyped\n', stderr: '', ExitCode: 0 });
    await ask('web', ['other']);
    expect(await drained('s')).toEqual({ stdout: 'out', stderr: '', ExitCode: 4 });
  });

  it('AG-326: the end of the task ends the command', async () => {
    const { time, runner, ask } = allocated({ exec_command: { run_for: '100h' } });
    runner.runAllocation();
    await time.pass(10);
    const { SessionID } = await ask('web', ['x']);
    void runner.kill();
    await time.pass(10);
    expect(await drained(SessionID)).toMatchObject({ ExitCode: 0 });
  });
});
