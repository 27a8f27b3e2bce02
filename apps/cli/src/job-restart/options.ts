import { NS_PER_MS } from '@waybill/model/clock';
import { parseDuration } from '@waybill/model/duration';
import type { Flag } from '../flags/flag.js';
import { ArgumentFailure } from '../failure.js';
import type { ParsedFlags } from '../flags/parsed-flags.js';
import { VERBOSE_FLAG } from '../terminal/display.js';

/** Size of a batch: a number of allocations, or a percentage of the eligible ones. */
export type BatchSize = { readonly count: number } | { readonly percent: number };

/** The step between two batches: a question, or a pause in milliseconds. */
export type BatchWait = 'ask' | number;

export interface RestartOptions {
  readonly batchSize: BatchSize;
  readonly batchWait: BatchWait;
  readonly onError: 'ask' | 'fail';
  /** Task groups to restart. Empty for all. */
  readonly groups: ReadonlySet<string>;
  /** Tasks to restart. Empty for the running ones. */
  readonly tasks: ReadonlySet<string>;
  readonly allTasks: boolean;
  readonly reschedule: boolean;
  readonly noShutdownDelay: boolean;
  readonly yes: boolean;
  readonly verbose: boolean;
}

export const RESTART_FLAGS: readonly Flag[] = [
  { name: 'all-tasks', kind: 'switch', help: 'Restart ended tasks too, in their order.' },
  {
    name: 'batch-size',
    kind: 'text',
    value: 'n|n%',
    help: 'Allocations in a batch, or a percentage of the eligible ones, rounded up (default 1).',
  },
  {
    name: 'batch-wait',
    kind: 'text',
    value: 'duration|ask',
    help: 'Pause between two batches, or "ask" for a question (default: none).',
  },
  { name: 'group', kind: 'list', value: 'group', help: 'Only allocations of this group; may be repeated.' },
  {
    name: 'no-shutdown-delay',
    kind: 'switch',
    help: 'With -reschedule: ignore the shutdown delays of groups and tasks.',
  },
  {
    name: 'on-error',
    kind: 'text',
    value: 'ask|fail',
    help: 'After a batch with errors: "ask" whether to continue (the default), or "fail".',
  },
  {
    name: 'reschedule',
    kind: 'switch',
    help: 'Stop each allocation and wait until its replacement runs, instead of restarting it in place.',
  },
  { name: 'task', kind: 'list', value: 'task', help: 'Restart only this task; may be repeated.' },
  { name: 'yes', kind: 'switch', help: 'Answer yes to every question.' },
  VERBOSE_FLAG,
];

/** Evaluates the flags (JR-103 to JR-111). @throws ArgumentFailure */
export function restartOptions(flags: ParsedFlags, canAsk: boolean): RestartOptions {
  const yes = flags.on('yes');
  const unasked = !canAsk && !yes;
  const text = (name: string, otherwise: string) => (flags.given(name) ? (flags.text(name) ?? '') : otherwise);
  const options: RestartOptions = {
    batchSize: batchSizeOf(text('batch-size', '1')),
    batchWait: batchWaitOf(text('batch-wait', '0'), unasked),
    onError: onErrorOf(text('on-error', 'ask'), unasked),
    groups: new Set(flags.list('group')),
    tasks: new Set(flags.list('task')),
    allTasks: flags.on('all-tasks'),
    reschedule: flags.on('reschedule'),
    noShutdownDelay: flags.on('no-shutdown-delay'),
    yes,
    verbose: flags.on('verbose'),
  };
  if (options.tasks.size > 0 && options.allTasks)
    throw new ArgumentFailure('The -all-tasks option cannot be used with -task');
  if (options.tasks.size > 0 && options.reschedule)
    throw new ArgumentFailure('The -reschedule option cannot be used with -task');
  return options;
}

function batchSizeOf(text: string): BatchSize {
  const [, digits, percent] = /^(\d+)(%?)$/.exec(text) ?? [];
  if (digits === undefined) throw invalid('batch-size', text, 'batch size must be an integer or a percentage');
  const n = Number(digits);
  if (n === 0) throw invalid('batch-size', text, 'number value must be greater than zero');
  if (!Number.isSafeInteger(n)) throw invalid('batch-size', text, 'number value is too large');
  return percent === '%' ? { percent: n } : { count: n };
}

function batchWaitOf(text: string, unasked: boolean): BatchWait {
  const wait = parseWait(text);
  if (wait === undefined) throw invalid('batch-wait', text, `time: invalid duration "${text}"`);
  if (wait === 'ask' && unasked) throw notInteractive('batch-wait');
  return wait;
}

function onErrorOf(text: string, unasked: boolean): 'ask' | 'fail' {
  if (text !== 'ask' && text !== 'fail') throw invalid('on-error', text, 'valid options are "ask" and "fail"');
  if (text === 'ask' && unasked) throw notInteractive('on-error');
  return text;
}

/** Parses `ask` or a duration. A negative duration means no wait (JR-105). Returns undefined for any other text. */
function parseWait(text: string): BatchWait | undefined {
  return text.toLowerCase() === 'ask' ? 'ask' : waitMs(text);
}

/** Parses a typed duration into milliseconds. */
export function waitMs(text: string): number | undefined {
  const ns = parseDuration(text);
  return ns === undefined ? undefined : Math.max(0, ns) / NS_PER_MS;
}

const invalid = (flag: string, value: string, why: string): ArgumentFailure =>
  new ArgumentFailure(`Invalid -${flag} value "${value}": ${why}`);

const notInteractive = (flag: string): ArgumentFailure =>
  invalid(flag, 'ask', '"ask" cannot be used when terminal is not interactive');
