/**
 * What the steps inside broker, worker and plan applier took, said by the transaction that ends them (CL-1047, CL-1065):
 * one text of the envelope beside the payload, so that the state machine never sees it.
 *
 * `<evaluation>@<unix ms> <step> <step> …; <evaluation>@…`, each step `<name><ms from then on>[+<ms long>][:<detail>…]`:
 *
 *     6b4c1d2e-…@1772359200009 enqueued-4+4 dequeued0:1 taken0:5f3a9c2e waited0+2:815 scheduled2+11:1:0 queued14+1
 *
 * Everything is counted from the moment at which the broker handed the evaluation to a worker, which both clocks have in
 * common: what the worker says of itself is right although its clock may be wrong. The moment is by the broker's clock.
 */

/** Characters of the text of one transaction: it travels with every copy. What would make it longer is left out. */
export const MAX_STEP_TIMES = 16_384;
/** Characters of one evaluation's steps: a run of many attempts tells its first. */
const MAX_LINE = 1_024;

export const STEP_NAMES = [
  /** Broker: its delay, its wait behind an earlier evaluation of its job, and for a worker; blocked until then. */
  'delayed',
  'pending',
  'enqueued',
  'unblocked',
  /** Broker, attempt. */
  'dequeued',
  /** Broker: a worker gave it back, or said nothing any more. */
  'rejected',
  /** Worker, its id. */
  'taken',
  /** Worker, index: for its copy of the state, and once more after a plan that was committed in part. */
  'waited',
  'refreshed',
  /** Worker, placed and stopped allocations of the plan. */
  'scheduled',
  /** Applier. */
  'queued',
  /** Applier, rejected nodes, allocations that may be committed. */
  'checked',
  /** Applier, index: until its own copy had it. */
  'committed',
] as const;
export type StepName = (typeof STEP_NAMES)[number];

export interface StepTime {
  readonly name: StepName;
  /** Unix ms, by the broker's clock. */
  readonly fromMs: number;
  /** Undefined: a moment. */
  readonly toMs: number | undefined;
  readonly details: readonly string[];
}

export interface EvaluationSteps {
  readonly evalId: string;
  readonly steps: readonly StepTime[];
}

/**
 * The steps of one delivery by one clock, each told once: as text, because nobody on the way looks at it.
 * Limit: MAX_LINE. Cost: one concatenation a step.
 */
export class StepLine {
  private text = '';

  /** @param sinceMs by the same clock as all that is added: the broker handed the evaluation over, the worker got it */
  constructor(readonly sinceMs: number) {}

  /** @param toMs undefined: a moment @param details words of letters, digits, `_` and `-`, or numbers */
  add(name: StepName, fromMs: number, toMs?: number, ...details: readonly (string | number)[]): void {
    let step = ` ${name}${Math.round(fromMs - this.sinceMs)}`;
    if (toMs !== undefined) step += `+${Math.max(0, Math.round(toMs - fromMs))}`;
    for (const detail of details) step += `:${detail}`;
    this.append(step);
  }

  /** What another line of the same delivery has told. */
  append(told: string | undefined): void {
    if (told !== undefined && this.text.length + told.length <= MAX_LINE) this.text += told;
  }

  /** What nobody has been told; empty: nothing. */
  take(): string {
    const { text } = this;
    this.text = '';
    return text;
  }

  /** Likewise, for a transaction. */
  takeOf(evalId: string): string {
    const told = this.take();
    return told === '' ? '' : `${evalId}@${Math.round(this.sinceMs)}${told}`;
  }
}

/** For one transaction about several evaluations; undefined: there is nothing to say. */
export function joinedStepTimes(of: readonly string[]): string | undefined {
  let joined = '';
  for (const text of of) {
    if (text === '' || joined.length + text.length + 2 > MAX_STEP_TIMES) continue;
    joined += joined === '' ? text : `; ${text}`;
  }
  return joined === '' ? undefined : joined;
}

const LINE = /^([\w-]{1,64})@(\d{1,15})((?: [^ ]+)+)$/;
const STEP = /^([a-z]+)(-?\d{1,12})(?:\+(\d{1,12}))?((?::[\w-]{1,64})*)$/;
const names: ReadonlySet<string> = new Set(STEP_NAMES);
const isStepName = (text: string): text is StepName => names.has(text);

/** Anybody may have written it: what is none of these, or not known to this version, is passed over. Never throws. */
export function readStepTimes(text: string): EvaluationSteps[] {
  if (text.length > MAX_STEP_TIMES) return [];
  return text.split('; ').flatMap((line) => {
    const [, evalId = '', sinceMs = '', steps = ''] = LINE.exec(line) ?? [];
    return evalId === ''
      ? []
      : [
          {
            evalId,
            steps: steps
              .slice(1)
              .split(' ')
              .flatMap(readStep(Number(sinceMs))),
          },
        ];
  });
}

const readStep =
  (sinceMs: number) =>
  (text: string): StepTime[] => {
    const [, name = '', from = '', took, details = ''] = STEP.exec(text) ?? [];
    if (!isStepName(name)) return [];
    const fromMs = sinceMs + Number(from);
    const toMs = took === undefined ? undefined : fromMs + Number(took);
    return [{ name, fromMs, toMs, details: details.split(':').slice(1) }];
  };
