import type { Clock, Timers } from '@waybill/model';
import { DriverClient, PluginError, PluginShutDownError } from '@waybill/plugins';
import type { PluginInstance } from '../../plugins/plugin-instance.js';
import { Gate, pause } from '../../waiting/gate.js';
import type { TaskEvent } from '../driver.js';
import { EventLimit } from './event-limit.js';

/** More events of one driver are not read in a second: they wait in the plugin, which blocks (PG-124). */
const MAX_EVENTS_PER_SECOND = 500;
const FIRST_WAIT_MS = 5_000;
const MAX_WAIT_MS = 120_000;

/**
 * DriverEventWatch reads the events of an external driver's tasks, for as long as the agent runs (PG-124).
 *
 * watching → stopped. When the stream ends, the plugin is asked again after 5 s, then after twice as long each time, at
 * most 2 minutes. A plugin without events is not asked again. Limits: those of EventLimit for a task, and
 * MAX_EVENTS_PER_SECOND for the driver.
 */
export class DriverEventWatch {
  private readonly stopping = new AbortController();
  private readonly stopped = new Gate();
  private readonly listeners: ((event: TaskEvent) => void)[] = [];
  private readonly limit: EventLimit;

  constructor(
    private readonly plugin: Pick<PluginInstance, 'runningProcess'>,
    private readonly clock: Clock,
    private readonly timers: Timers,
  ) {
    this.limit = new EventLimit(timers, (event) => {
      for (const listener of this.listeners) listener(event);
    });
  }

  onEvent(listener: (event: TaskEvent) => void): void {
    this.listeners.push(listener);
  }

  /** Reads until `stop`. Never rejects. */
  async watch(): Promise<void> {
    for (let failures = 0; !this.stopped.isOpen; failures++) {
      try {
        const process = await this.plugin.runningProcess();
        const events = new DriverClient(process.connection).taskEvents(this.stopping.signal);
        let left = MAX_EVENTS_PER_SECOND;
        let secondBegan = this.clock.nowMs();
        for await (const { alloc_id: allocId, task_name: task, message, annotations } of events) {
          failures = 0;
          this.limit.forwardEvent({ allocId, task, message, annotations });
          if (--left > 0) continue;
          const restMs = secondBegan + 1_000 - this.clock.nowMs();
          if (restMs > 0) await pause(this.timers, Math.min(restMs, 1_000), this.stopped);
          left = MAX_EVENTS_PER_SECOND;
          secondBegan = this.clock.nowMs();
        }
      } catch (error) {
        if (error instanceof PluginError && error.isUnimplemented) return;
        if (error instanceof PluginShutDownError) failures = 0;
      }
      await pause(this.timers, Math.min(FIRST_WAIT_MS * 2 ** failures, MAX_WAIT_MS), this.stopped);
    }
  }

  stop(): void {
    this.stopping.abort();
    this.stopped.open();
  }
}
