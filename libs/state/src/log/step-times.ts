/**
 * Times of the steps inside broker, worker and plan applier, which the transaction that ends them carries (CL-1047,
 * CL-1065). They are one text in the envelope beside the payload, so that the state machine does not read them.
 *
 * `<evaluation>@<unix ms> <step> <step> …; <evaluation>@…`, each step `<name><ms from then on>[+<ms long>][:<detail>…]`:
 *
 *     6b4c1d2e-…@1772359200009 enqueued-4+4 dequeued0:1 taken0:5f3a9c2e waited0+2:815 scheduled2+11:1:0 queued14+1
 *
 * Times count from the moment at which the broker delivered the evaluation to a worker, which both clocks share: a
 * worker's steps are right even if its clock is wrong. The moment itself is by the broker's clock.
 */

/** Characters of one transaction's text, which travels with every copy. Steps beyond it are omitted. */
export const MAX_STEP_TIMES = 16_384;
/** Characters of one evaluation's steps: of a run with many attempts, the first ones are kept. */
export const MAX_LINE = 1_024;

export const STEP_NAMES = [
  /** Broker: its delay, its wait behind an earlier evaluation of its job, and for a worker; blocked until then. */
  'delayed',
  'pending',
  'enqueued',
  'unblocked',
  /** Broker: delivered; the attempt. */
  'dequeued',
  /** Broker: a worker nacked the delivery, or its nack timer expired. */
  'rejected',
  /** Worker: received; its ID. */
  'taken',
  /** Worker: waited until its copy of the state had the index, and again after a plan that was committed in part. */
  'waited',
  'refreshed',
  /** Worker: computed a plan; placed and stopped allocations. */
  'scheduled',
  /** Applier: the plan waited in the queue. */
  'queued',
  /** Applier: verified the plan; rejected nodes, allocations to commit. */
  'checked',
  /** Applier: committed the plan, until its own copy of the state had the index. */
  'committed',
] as const;
export type StepName = (typeof STEP_NAMES)[number];

export interface StepTime {
  readonly name: StepName;
  /** Unix ms, by the broker's clock. */
  readonly fromMs: number;
  /** Undefined for a moment without duration. */
  readonly toMs: number | undefined;
  readonly details: readonly string[];
}

export interface EvaluationSteps {
  readonly evalId: string;
  readonly steps: readonly StepTime[];
}

/**
 * The steps of one delivery by one clock, each sent once. They are kept as text, because nothing on the way reads them.
 * Limit: MAX_LINE. Cost: one concatenation for each step.
 */
export class StepLine {
  private text = '';

  /**
   * @param sinceMs by the same clock as all steps: when the broker delivered the evaluation, or the worker received it
   */
  constructor(readonly sinceMs: number) {}

  /** Adds a step. @param toMs undefined: a moment @param details words of letters, digits, `_` and `-`, or numbers */
  add(name: StepName, fromMs: number, toMs?: number, ...details: readonly (string | number)[]): void {
    let step = ` ${name}${Math.round(fromMs - this.sinceMs)}`;
    if (toMs !== undefined) step += `+${Math.max(0, Math.round(toMs - fromMs))}`;
    for (const detail of details) step += `:${detail}`;
    this.append(step);
  }

  /** Appends the steps of another line of the same delivery. */
  append(told: string | undefined): void {
    if (told !== undefined && this.text.length + told.length <= MAX_LINE) this.text += told;
  }

  /** Removes and returns the steps that were not sent yet; empty: none. */
  takeUnsent(): string {
    const { text } = this;
    this.text = '';
    return text;
  }

  /** As `takeUnsent`, in the form for a transaction. */
  takeOf(evalId: string): string {
    const told = this.takeUnsent();
    return told === '' ? '' : `${evalId}@${Math.round(this.sinceMs)}${told}`;
  }
}

/** The text for one transaction about several evaluations; undefined if there are no steps. */
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

/** Parses a text of any origin. Malformed and unknown steps are skipped. Never throws. */
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
