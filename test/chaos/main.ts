import { randomInt } from 'node:crypto';
import { Command } from 'commander';
import { type ChaosReport, runChaos } from './chaos-run.js';
import { CUT_SHARE, unsyncedAtMostMs } from './fault-plan.js';

const print = (text: string): void => void process.stdout.write(`${text}\n`);
const complain = (text: string): void => void process.stderr.write(`${text}\n`);

/** What a timer takes at most. */
const MAX_MS = 2 ** 31 - 1;

interface Options {
  readonly seed?: string;
  readonly minutes: string;
  readonly clocks: boolean;
  readonly json: boolean;
  readonly powerCuts: boolean;
  readonly cuts?: string;
  readonly sync: string;
  readonly together: boolean;
}

const options = new Command('chaos')
  .description(
    'Runs a whole Waybill of real processes, with users who write and read, while an adversary kills and freezes ' +
      'processes, nats-server and PostgreSQL too. Then it looks from outside whether anything acknowledged was lost or ' +
      'anything ran double.',
  )
  .option('--seed <n>', 'what the adversary and the users do; default: another one each time, which is printed')
  .option('--minutes <m>', 'how long they are at work', '2')
  .option('--clocks', 'clocks of single processes are set, or run too fast or slow, too (needs libfaketime)', false)
  .option('--power-cuts', 'nats-server loses power too, and an operator decides (docs/power-cuts.md)', false)
  .option('--cuts <n>', 'so many power cuts and nothing else, however long they take')
  .option(
    '--together',
    'all services but the API in one process, which is not killed: sooner up again, for many cuts',
    false,
  )
  .option('--sync <interval>', 'sync_interval of nats-server with power cuts: milliseconds, or always', '100ms')
  .option('--json', 'the report as JSON, and nothing else', false)
  .addHelpText('after', '\nExit code: 0 nothing found, 1 something found, 2 it could not be run.')
  .parse()
  .opts<Options>();

const seed = options.seed === undefined ? randomInt(2 ** 31) : Number(options.seed);
const untilCuts = options.cuts === undefined ? undefined : Number(options.cuts);
const forMs = untilCuts === undefined ? Number(options.minutes) * 60_000 : MAX_MS;
const powerCuts =
  options.powerCuts || untilCuts !== undefined
    ? { syncInterval: options.sync, share: untilCuts === undefined ? CUT_SHARE : 1 }
    : undefined;
const began = performance.now();
const say = (line: string): void => {
  if (!options.json) print(`${((performance.now() - began) / 1000).toFixed(1).padStart(7)} s  ${line}`);
};

function text({ findings, verified, verification, ...run }: ChaosReport): string {
  const count = (kind: string) => findings.filter((one) => one.kind === kind).length;
  return [
    '',
    `seed ${run.seed}: ${run.kills} kills, ${run.freezes} freezes` +
      (options.clocks ? `, ${run.clocks} wrong clocks` : '') +
      (run.cuts > 0 ? `, ${run.cuts} power cuts` : ''),
    ...(run.cuts > 0
      ? [
          `after ${run.decided} cuts an operator adopted the log; ${run.named} transactions were named lost, ` +
            `${run.lostInCuts} of them acknowledged writes of users`,
        ]
      : []),
    `${run.writes} writes, ${run.acknowledged} of them acknowledged; ${run.reads} reads; ${run.tasksBegun} tasks begun`,
    `at rest ${(run.restedAfterMs / 1000).toFixed(1)} s after the last fault`,
    `lost: ${count('lost')}, double: ${count('double')}, out of order: ${count('order')}, left over: ${count('leftover')}` +
      (run.cuts > 0 ? `, wrongly named or not named: ${count('unnamed')}` : ''),
    ...findings.map(({ kind, text: what }) => `  ${kind}: ${what}`),
    verified ? 'log and state verified' : `not verified:\n${verification}`,
  ].join('\n');
}

try {
  if (!Number.isSafeInteger(seed) || !(forMs > 0)) throw new Error('--seed and --minutes are numbers');
  const stopper = new AbortController();
  process.once('SIGINT', () => stopper.abort());
  say(`seed ${seed}`);
  if (untilCuts !== undefined && !(untilCuts > 0)) throw new Error('--cuts is a number');
  const ends = { forMs, signal: stopper.signal, ...(untilCuts !== undefined && { untilCuts }) };
  if (powerCuts) unsyncedAtMostMs(powerCuts.syncInterval);
  const report = await runChaos({
    seed,
    say,
    clocks: options.clocks,
    together: options.together,
    ...ends,
    ...(powerCuts && { powerCuts }),
  });
  print(options.json ? JSON.stringify(report, null, 2) : text(report));
  process.exitCode = report.findings.length > 0 || !report.verified ? 1 : 0;
} catch (error) {
  complain(`chaos: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(2); // users who try until they are answered would go on for ever
}
