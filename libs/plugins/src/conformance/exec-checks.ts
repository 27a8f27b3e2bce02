import { PluginError } from '../errors.js';
import type { ExecAnswer, ExecInput } from '../messages.js';
import type { PluginDialogue } from '../plugin-channel.js';
import { type Checks, expectSoon, expectThat, SkippedCheck } from './checks.js';
import type { DriverUnderCheck } from './task-samples.js';
import type { TriedPlugin } from './tried-plugin.js';
import type { TriedTask } from './tried-task.js';

const MUCH_BYTES = 10 * 1024 * 1024;
/** The time within which the command of a caller who left is gone (PG-67). */
const GONE_WITHIN_MS = 5_000;
const TERMINAL = { height: 33, width: 101 } as const;
const MAX_TEXT_CHARS = 4_096;

interface Ran {
  readonly text: string;
  readonly bytes: number;
  readonly exitCode: number | undefined;
}

/** Runs commands beside a running task (PG-67). */
export async function checkCommands(
  checks: Checks,
  plugin: TriedPlugin,
  task: TriedTask,
  { capabilities, samples: { shell = '/bin/sh' } }: DriverUnderCheck,
): Promise<void> {
  if (!capabilities.exec) {
    checks.skip('commands: all checks', 'the driver runs no commands beside tasks');
    return;
  }
  const begin = async (line: string, tty: boolean, signal: AbortSignal) => {
    const dialogue = plugin.driver.execTask(signal);
    await dialogue.send({ setup: { task_id: task.id, command: [shell, '-c', line], tty } });
    return dialogue;
  };
  /** Runs a line without input. Many drivers wait for the end of the input before they report the command's end. */
  const run = async (line: string, signal: AbortSignal): Promise<Ran> => {
    const dialogue = await begin(line, false, signal);
    await dialogue.send({ stdin: { close: true } });
    return outcomeOf(dialogue);
  };

  await checks.run('commands: output, error output and exit code', async (signal) => {
    const { text, exitCode } = await run('echo out; echo err >&2; exit 137', signal);
    expectThat(text.includes('out') && text.includes('err'), `the output is ${JSON.stringify(text)}`);
    expectThat(exitCode === 137, `the exit code is ${exitCode}, not 137`);
  });
  await checks.run('commands: input, and its end', async (signal) => {
    const dialogue = await begin('cat; echo over', false, signal);
    await dialogue.send({ stdin: { data: Buffer.from('typed\n') } });
    await dialogue.send({ stdin: { close: true } });
    const { text, exitCode } = await outcomeOf(dialogue);
    expectThat(text === 'typed\nover\n', `the output is ${JSON.stringify(text)}`);
    expectThat(exitCode === 0, `the exit code is ${exitCode}`);
  });
  await checks.run('commands: 10 MiB of output arrive', async (signal) => {
    const { bytes, exitCode } = await run(`head -c ${MUCH_BYTES} /dev/zero`, signal);
    expectThat(exitCode === 0, `the exit code is ${exitCode}`);
    expectThat(bytes === MUCH_BYTES, `${bytes} of ${MUCH_BYTES} bytes arrived`);
  });
  await checks.run('commands: a terminal has the size that its caller sets', async (signal) => {
    const dialogue = await begin('test -t 0 && test -t 1 || exit 3; read go; stty size; exit 7', true, signal);
    await dialogue.send({ tty_size: TERMINAL });
    await dialogue.send({ stdin: { data: Buffer.from('go\n') } });
    const { text, exitCode } = await outcomeOf(dialogue);
    expectThat(exitCode !== 3, 'the command has no terminal');
    expectThat(text.includes(`${TERMINAL.height} ${TERMINAL.width}`), `the output is ${JSON.stringify(text)}`);
    expectThat(exitCode === 7, `the exit code is ${exitCode}, not 7`);
  });
  for (const tty of [false, true])
    await checks.run(
      `commands: one ${tty ? 'on a terminal' : 'without a terminal'} is gone when its caller leaves`,
      async (signal) => {
        const leaving = new AbortController();
        const dialogue = await begin('echo pid=$$; while :; do sleep 0.1; done', tty, leaving.signal);
        const pid = await pidOf(dialogue);
        leaving.abort();
        const isGone = async (): Promise<boolean> => (await run(`kill -0 ${pid}`, signal)).exitCode !== 0;
        await expectSoon(isGone, `it runs ${GONE_WITHIN_MS / 1_000} s later`, GONE_WITHIN_MS);
      },
    );
  await checks.run('commands: one that cannot be started is an error or has an exit code', async (signal) => {
    const dialogue = plugin.driver.execTask(signal);
    await dialogue.send({ setup: { task_id: task.id, command: ['/no/such/command'], tty: false } });
    const ran = await outcomeOf(dialogue).catch((error: unknown) => {
      if (error instanceof PluginError) return undefined;
      throw error;
    });
    expectThat(!plugin.process.connection.isClosed, 'the plugin ended');
    expectThat(ran?.exitCode !== 0, 'it succeeded');
  });
  await checks.run('commands: a call without its setup is refused', async (signal) => {
    const dialogue = plugin.driver.execTask(signal);
    await dialogue.send({ stdin: { data: Buffer.from('x') } });
    const refused = await outcomeOf(dialogue).then(
      ({ exitCode }) => exitCode === undefined,
      (error: unknown) => error instanceof PluginError,
    );
    expectThat(!plugin.process.connection.isClosed, 'the plugin ended');
    expectThat(refused, 'it ran');
  });
}

async function outcomeOf({ answers }: PluginDialogue<ExecInput, ExecAnswer>): Promise<Ran> {
  let [text, bytes] = ['', 0];
  for await (const { stdout, stderr, exited, result } of answers) {
    for (const piece of [stdout, stderr]) {
      bytes += piece?.data.length ?? 0;
      if (piece && text.length < MAX_TEXT_CHARS) text += Buffer.from(piece.data).toString();
    }
    if (exited) return { text, bytes, exitCode: result?.exit_code };
  }
  return { text, bytes, exitCode: undefined };
}

async function pidOf({ answers }: PluginDialogue<ExecInput, ExecAnswer>): Promise<string> {
  for (let text = ''; ;) {
    const next = await answers.next();
    if (next.done) throw new SkippedCheck('the command does not say its process ID');
    text += Buffer.from(next.value.stdout?.data ?? []).toString();
    const [, pid] = /pid=(\d+)\s/.exec(text) ?? [];
    if (pid !== undefined) return pid;
  }
}
