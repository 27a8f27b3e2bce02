import type { Timers } from '@waybill/model';
import { type DriverClient, PluginError, PluginShutDownError, taskStatsMessage } from '@waybill/plugins';
import type { TaskResourceUsage } from '@waybill/rpc';
import { Gate, pause } from '../../waiting/gate.js';
import { taskUsage } from './reported-usage.js';

/** The interval at which a driver reports. */
const INTERVAL_MS = 1_000;
const FIRST_WAIT_MS = 1_000;
const MAX_WAIT_MS = 5_000;
/** The longest wait for the first report. */
const FIRST_REPORT_MS = 2 * INTERVAL_MS;

/**
 * TaskStatsWatch reads the statistics of one task, from the first question about them to the task's end (PG-64).
 *
 * waiting → reading → ended. The driver's refusal ends it for good. A stream that ended, or a plugin that did, is asked
 * again after 1 s, then twice as long each time, at most 5 s. Memory: the last report.
 */
export class TaskStatsWatch {
  /** The last report, decoded when somebody asks. */
  private last: Uint8Array | undefined;
  private readonly first = new Gate();
  private readonly stopped = new Gate();
  private readonly stopping = new AbortController();
  private isReading = false;

  constructor(
    private readonly taskId: string,
    private readonly client: () => Promise<Pick<DriverClient, 'listenToStats'>>,
    private readonly timers: Timers,
  ) {}

  /** Returns the last report, or undefined if there is none or it is malformed. */
  async usage(): Promise<TaskResourceUsage | undefined> {
    if (!this.isReading) {
      this.isReading = true;
      void this.read();
    }
    await pause(this.timers, FIRST_REPORT_MS, this.first, this.stopped);
    return this.last && usageIn(this.last);
  }

  stop(): void {
    this.stopping.abort();
    this.stopped.open();
  }

  private async read(): Promise<void> {
    for (let failures = 0; !this.stopped.isOpen; failures++) {
      try {
        const take = (report: Uint8Array): void => {
          failures = 0;
          this.last = report;
          this.first.open();
        };
        await (await this.client()).listenToStats(this.taskId, INTERVAL_MS, take, this.stopping.signal);
      } catch (error) {
        const isPassing = error instanceof PluginShutDownError || (error instanceof PluginError && error.isRecoverable);
        if (!isPassing) return this.first.open();
      }
      await pause(this.timers, Math.min(FIRST_WAIT_MS * 2 ** failures, MAX_WAIT_MS), this.stopped);
    }
  }
}

/** Decodes a report. Returns undefined for what is none, because the statistics of other tasks do not depend on it. */
function usageIn(answer: Uint8Array): TaskResourceUsage | undefined {
  try {
    const report = taskStatsMessage(answer);
    return report && taskUsage(report);
  } catch {
    return undefined;
  }
}
