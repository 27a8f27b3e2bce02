import { readFileSync } from 'node:fs';
import path from 'node:path';
import { checkPlugin, type CheckResult, type PluginCheckReport } from '@waybill/plugins';
import type { OfflineCommand } from '../command-spec.js';
import { causeOf, CommandFailure } from '../failure.js';
import type { Flag } from '../flags/flag.js';
import { DATA_FLAGS, dataPrinter } from '../terminal/data-printer.js';
import { exactOf } from '../terminal/exact-json.js';
import type { Terminal } from '../terminal/terminal.js';

const FLAGS: readonly Flag[] = [
  { name: 'arg', kind: 'list', value: 'text', help: 'Argument of the plugin. May be repeated.' },
  { name: 'config', kind: 'text', value: 'json', help: "The plugin's own configuration." },
  {
    name: 'task',
    kind: 'text',
    value: 'json',
    help: 'The config block of a task that runs until it is stopped. Without it, no task is started.',
  },
  { name: 'short-task', kind: 'text', value: 'json', help: 'The config block of a task that ends by itself.' },
  { name: 'exit-code', kind: 'integer', value: 'n', help: 'Exit code of the short task (0).' },
  { name: 'says', kind: 'text', value: 'text', help: 'Text that the short task writes to its output.' },
  { name: 'shell', kind: 'text', value: 'path', help: 'Shell inside of the tasks (/bin/sh).' },
  { name: 'timeout', kind: 'duration', value: 'time', help: 'Longest time of one check (20s).' },
  { name: 'verbose', kind: 'switch', help: 'Print what the plugin logs.' },
  ...DATA_FLAGS,
];

/** Checks a driver or device plugin against the plugin protocol (CL-723). */
export const command: OfflineCommand = {
  offline: true,
  usage: '<path>',
  description:
    'Checks whether a driver or device plugin keeps to the plugin protocol. <path> is its executable file, which runs ' +
    'as you. The checks of tasks need the configuration of a task that runs until it is stopped.\n\nA value of a flag ' +
    'that begins with "@" names a file with the JSON.\n\nExit codes: 0 all checks passed; 1 some failed.',
  flags: FLAGS,
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <path>' },
  async run({ flags, args: [file = ''], terminal }) {
    const data = await dataPrinter(FLAGS, flags, terminal);
    const isVerbose = flags.on('verbose');
    const says = flags.text('says');
    const timeoutMs = flags.durationMs('timeout');
    const [task, shortTask] = [jsonOf('task', flags.text('task')), jsonOf('short-task', flags.text('short-task'))];
    const report = await checkPlugin({
      file: path.resolve(file),
      args: flags.list('arg'),
      env: process.env,
      log: ({ level, message }) => isVerbose && terminal.note(`[${level}] ${message}`),
      config: jsonOf('config', flags.text('config')) ?? {},
      ...(task && { task }),
      ...(shortTask && { shortTask }),
      exitCode: flags.integer('exit-code') ?? 0,
      ...(says !== undefined && { says }),
      shell: flags.text('shell') ?? '/bin/sh',
      ...(timeoutMs !== undefined && { timeoutMs }),
      ...(!data && { report: (result: CheckResult) => printResult(terminal, result) }),
    });
    if (data) data(exactOf(reportData(report)));
    else printCounts(terminal, report);
    return report.results.some(({ outcome }) => outcome === 'failed') ? 1 : 0;
  },
};

/** Parses a flag's JSON object, or that of the file that it names. @throws CommandFailure */
function jsonOf(flag: string, given: string | undefined): Readonly<Record<string, unknown>> | undefined {
  if (given === undefined) return undefined;
  try {
    const parsed: unknown = JSON.parse(given.startsWith('@') ? readFileSync(given.slice(1), 'utf8') : given);
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return { ...parsed };
  } catch (error) {
    throw new CommandFailure(`Error reading -${flag}: ${causeOf(error)}`);
  }
  throw new CommandFailure(`Error reading -${flag}: it has to be a JSON object`);
}

const MARKS = { ok: 'ok  ', failed: 'FAIL', skipped: 'skip' } as const;

function printResult(terminal: Terminal, { name, outcome, text, ms }: CheckResult): void {
  const mark = outcome === 'failed' ? terminal.red(MARKS[outcome]) : MARKS[outcome];
  const remark = text === '' ? '' : outcome === 'failed' ? `\n     ${text}` : ` (${text})`;
  terminal.print(`${mark} ${name}${outcome === 'ok' && ms >= SLOW_MS ? ` [${ms} ms]` : ''}${remark}`);
}

/** Checks that take longer show their time. */
const SLOW_MS = 1_000;

function printCounts(terminal: Terminal, { info, results }: PluginCheckReport): void {
  const { ok, failed, skipped } = countsOf(results);
  const plugin = info ? `${info.kind} ${info.name} ${info.version}: ` : '';
  terminal.print(`\n${terminal.bold(`${plugin}${ok} passed, ${failed} failed, ${skipped} skipped`)}`);
}

const countsOf = (results: readonly CheckResult[]): Record<CheckResult['outcome'], number> => {
  const count = (wanted: CheckResult['outcome']): number => results.filter(({ outcome }) => outcome === wanted).length;
  return { ok: count('ok'), failed: count('failed'), skipped: count('skipped') };
};

const reportData = ({ info, results }: PluginCheckReport): object => ({
  Plugin: info ? { Kind: info.kind, Name: info.name, Version: info.version, APIVersion: info.apiVersion } : null,
  Counts: countsOf(results),
  Results: results.map(({ name, outcome, text, ms }) => ({
    Name: name,
    Outcome: outcome,
    Text: text,
    Milliseconds: ms,
  })),
});
