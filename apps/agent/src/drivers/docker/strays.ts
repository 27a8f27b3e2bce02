import type Docker from 'dockerode';
import type { Clock } from '@waybill/model';
import { AGENT_LABEL, TASK_LABEL } from './container-options.js';

/** How often, and how long a container has to be nobody's: a young one may belong to a start that is under way. */
export const STRAY_PERIOD_MS = 5 * 60_000;

/** What is asked of an engine. */
export type StrayEngine = Pick<Docker, 'listContainers' | 'getContainer'>;

/**
 * Removes the containers of one agent that none of its tasks is, running or not: what is left of an agent that lost its
 * directory, or was killed at a bad moment. One is removed when two looks in succession, STRAY_PERIOD_MS apart by the time
 * that passes, found it to be nobody's: the time of day at which the engine made it does not matter.
 */
export class Strays {
  private suspected = new Set<string>();
  private lookMs: number;

  constructor(
    private readonly agent: string,
    private readonly isKnown: (taskId: string) => boolean,
    private readonly monotonic: Clock,
  ) {
    // What an agent before this one ran is taken up first.
    this.lookMs = monotonic.nowMs() + STRAY_PERIOD_MS;
  }

  /** @returns names of the containers that were removed; mostly there is nothing to look at yet */
  async remove(engine: StrayEngine): Promise<string[]> {
    const nowMs = this.monotonic.nowMs();
    if (nowMs < this.lookMs) return [];
    this.lookMs = nowMs + STRAY_PERIOD_MS;
    const own = await engine.listContainers({ all: true, filters: { label: [`${AGENT_LABEL}=${this.agent}`] } });
    const unknown = own.filter(({ Labels }) => !this.isKnown(Labels[TASK_LABEL] ?? ''));
    const strays = unknown.filter(({ Id }) => this.suspected.has(Id));
    this.suspected = new Set(unknown.map(({ Id }) => Id));
    for (const { Id } of strays) await engine.getContainer(Id).remove({ force: true, v: true });
    return strays.flatMap(({ Names }) => Names);
  }
}
