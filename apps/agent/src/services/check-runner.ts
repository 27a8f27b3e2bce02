import { type AllocCheckStatus, type CancelTimer, type Clock, msFromNs, type Timers } from '@waybill/model';
import type { Probe, ProbeResult } from './probe.transport.js';
import type { WorkloadCheck } from './workload-service.js';

export interface CheckRunnerDependencies {
  readonly probe: Probe;
  readonly clock: Clock;
  readonly timers: Timers;
  /** Is called after each change of the status. */
  readonly changed: () => void;
  /** Is called after every result. */
  readonly reportOutcome?: (passed: boolean) => void;
}

/**
 * CheckRunner runs one check (AG-145).
 *
 * States: waiting (half an interval, later a whole one) → looking → waiting …; stopped. The next look begins one
 * interval after the end of the last, so looks at a slow service never overlap. `timeout` ends a look. Memory: the last
 * result.
 */
export class CheckRunner {
  private result: AllocCheckStatus;
  private passing: number | undefined;
  private isStopped = false;
  /**
   * Ends the current look. Each look has its own controller, because a combined signal would stay in memory with a
   * long-lived one.
   */
  private abortProbe: (why: Error) => void = () => {};
  private cancelTimer: CancelTimer;

  /** @param last the last result of an earlier run of the agent (AG-146) */
  constructor(
    readonly check: WorkloadCheck,
    private readonly deps: CheckRunnerDependencies,
    last?: AllocCheckStatus,
  ) {
    this.result = last ?? pendingStatus(check);
    if (last?.Status === 'success') this.passing = deps.clock.nowMs();
    this.cancelTimer = deps.timers.after(msFromNs(check.spec.Interval) / 2, () => void this.runOnce());
  }

  get status(): AllocCheckStatus {
    return this.result;
  }

  /**
   * Unix milliseconds since which every look succeeded, as far as this run of the agent has seen. Undefined if the
   * check does not pass.
   */
  get passingSinceMs(): number | undefined {
    return this.passing;
  }

  stop(): void {
    this.isStopped = true;
    this.abortProbe(new Error('the check has ended'));
    this.cancelTimer();
  }

  private async runOnce(): Promise<void> {
    const { clock, timers } = this.deps;
    const result = await this.probeOnce();
    if (this.isStopped) return;
    const nowMs = clock.nowMs();
    const before = this.result;
    this.result = {
      ...before,
      Status: result.ok ? 'success' : 'failure',
      Output: result.output,
      StatusCode: result.statusCode,
      Timestamp: Math.floor(nowMs / 1_000),
    };
    this.passing = result.ok ? (this.passing ?? nowMs) : undefined;
    this.cancelTimer = timers.after(msFromNs(this.check.spec.Interval), () => void this.runOnce());
    if (before.Status !== this.result.Status) this.deps.changed();
    this.deps.reportOutcome?.(result.ok);
  }

  private async probeOnce(): Promise<ProbeResult> {
    const over = new AbortController();
    this.abortProbe = (why) => over.abort(why);
    const cancel = this.deps.timers.after(msFromNs(this.check.spec.Timeout), () =>
      this.abortProbe(new Error('timed out')),
    );
    try {
      return await this.deps.probe(this.check, over.signal);
    } catch (error) {
      return { ok: false, output: `nomad: ${textOf(over.signal.aborted ? over.signal.reason : error)}`, statusCode: 0 };
    } finally {
      cancel();
    }
  }
}

/** Returns the status of a check that has no result yet (AG-145). */
export function pendingStatus({ id, service, task, group, spec }: WorkloadCheck): AllocCheckStatus {
  return {
    ID: id,
    Check: spec.Name,
    Group: group,
    Mode: isReadiness(spec) ? 'readiness' : 'healthiness',
    Output: 'nomad: waiting to run',
    Service: service,
    Task: task,
    Status: 'pending',
    StatusCode: 0,
    Timestamp: 0,
  };
}

/** Says whether a check has the mode `readiness`, which the health of the allocation ignores (AG-130). */
export const isReadiness = ({ OnUpdate }: WorkloadCheck['spec']): boolean => OnUpdate === 'ignore';

/** Returns an error's message. `fetch` gives the reason only in the cause. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}
