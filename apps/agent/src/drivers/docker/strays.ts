import type Docker from 'dockerode';
import type { Clock } from '@waybill/model';
import { AGENT_LABEL, TASK_LABEL } from './container-options.js';

/**
 * The interval in milliseconds between two searches. A container must be unknown in two searches, because a young one
 * may belong to a start in progress.
 */
export const STRAY_PERIOD_MS = 5 * 60_000;

/** StrayEngine is the part of an engine that the search uses. */
export type StrayEngine = Pick<Docker, 'listContainers' | 'getContainer'>;

/**
 * Strays removes containers of one agent that belong to none of its tasks, running or not. An agent leaves them if it
 * lost its directory or was killed at a bad moment. A container is removed if two searches in succession,
 * STRAY_PERIOD_MS apart, did not know it. The clock is monotonic, so changes of the time of day do not matter.
 */
export class Strays {
  private suspected = new Set<string>();
  private scanMs: number;

  constructor(
    private readonly agent: string,
    private readonly isKnown: (taskId: string) => boolean,
    private readonly monotonic: Clock,
  ) {
    // The first search waits until the agent has restored the tasks of its predecessor.
    this.scanMs = monotonic.nowMs() + STRAY_PERIOD_MS;
  }

  /** Searches if the interval has passed. @returns the names of the removed containers */
  async remove(engine: StrayEngine): Promise<string[]> {
    const nowMs = this.monotonic.nowMs();
    if (nowMs < this.scanMs) return [];
    this.scanMs = nowMs + STRAY_PERIOD_MS;
    const own = await engine.listContainers({ all: true, filters: { label: [`${AGENT_LABEL}=${this.agent}`] } });
    const unknown = own.filter(({ Labels }) => !this.isKnown(Labels[TASK_LABEL] ?? ''));
    const strays = unknown.filter(({ Id }) => this.suspected.has(Id));
    this.suspected = new Set(unknown.map(({ Id }) => Id));
    for (const { Id } of strays) await engine.getContainer(Id).remove({ force: true, v: true });
    return strays.flatMap(({ Names }) => Names);
  }
}
