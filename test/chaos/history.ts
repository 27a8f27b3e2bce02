/** How a write ended for whoever asked: done, refused for good, or nobody knows. */
export type Ending = 'acknowledged' | 'refused' | 'unknown';

/** One write of a user. Each job is written by one user, one write after the other. */
export interface Write {
  readonly job: string;
  readonly verb: 'register' | 'stop';
  /** What a registration can be told from: in the job's meta, one more with each try of the user. */
  readonly mark: number;
  readonly count: number;
  readonly ending: Ending;
  /** Answered with an acknowledgement. */
  readonly modifyIndex?: number;
  readonly asked?: Asked;
}

/** When a user asked and was answered, milliseconds of `performance.now`. */
export interface Asked {
  readonly sentMs: number;
  readonly answeredMs: number;
}

/** What a reader saw of a job: its mark, or that it is not there. */
export interface Read {
  readonly job: string;
  readonly mark: number | undefined;
  readonly index: number;
  /** When it was answered, milliseconds of `performance.now`. */
  readonly atMs?: number;
}

/** A dispatch, tried with one token until it was acknowledged. */
export interface Dispatch {
  readonly token: string;
  readonly child: string;
  readonly index?: number;
  readonly asked?: Asked;
}

/** nats-server lost power, and an operator decided. */
export interface PowerCut {
  /** What was acknowledged before this was on the disk; milliseconds of `performance.now`. */
  readonly syncedMs: number;
  /** What was sent after this was sent to what came back. */
  readonly cutMs: number;
  /** When everything was well again. */
  readonly decidedMs: number;
  /** Lines that tasks had written at the last sync, and when the operator had decided. */
  readonly lines: { readonly from: number; readonly to: number };
  /** Indexes of the transactions that Waybill said are lost. */
  readonly named: readonly number[];
  /** How often an operator had to adopt the log. */
  readonly adoptions: number;
}

/** A line that a task has written when it began or ended. */
export interface TaskLine {
  readonly job: string;
  readonly alloc: string;
  readonly pid: number;
  readonly what: 'begun' | 'ended';
}

/** All that was seen from outside while the adversary was at work. */
export interface History {
  readonly writes: readonly Write[];
  readonly reads: readonly Read[];
  readonly dispatches: readonly Dispatch[];
  readonly lines: readonly TaskLine[];
  readonly cuts: readonly PowerCut[];
}

/** A job as the API shows it in the end. */
export interface FinalJob {
  readonly id: string;
  readonly mark: number | undefined;
  readonly stopped: boolean;
  readonly isBatch: boolean;
  readonly count: number;
  readonly allocs: readonly FinalAlloc[];
}

export interface FinalAlloc {
  readonly id: string;
  readonly desired: string;
  readonly client: string;
  /** A plan gave it up, because its machine was down or disconnected. Its machine may have reported since. */
  readonly wasGivenUp?: boolean;
  /** What the events of its failed tasks say. */
  readonly failure?: string;
}

export interface Logged {
  readonly job: string;
  readonly mark: number | undefined;
}

/** What there is when nobody does anything to it any more. */
export interface FinalState {
  readonly jobs: readonly FinalJob[];
  /** IDs of the children of the parameterized job, by the token of their dispatch. */
  readonly children: Readonly<Record<string, readonly string[]>>;
  /** Of the lines' processes those that live. */
  readonly living: ReadonlySet<number>;
  /** By index of the log, which job a transaction there registers, with which mark, or stops. */
  readonly logged: ReadonlyMap<number, Logged>;
}
