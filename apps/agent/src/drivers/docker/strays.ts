import type Docker from 'dockerode';
import { AGENT_LABEL, TASK_LABEL } from './container-options.js';

/** How often, and how old a container has to be: a young one may belong to a start that is under way. */
export const STRAY_PERIOD_MS = 5 * 60_000;

/**
 * Removes the containers of this agent that none of its tasks is, running or not: what is left of an agent that lost its
 * directory, or was killed at a bad moment. @returns their names
 */
export async function removeStrays(
  engine: Docker,
  agent: string,
  isKnown: (taskId: string) => boolean,
  nowMs: number,
): Promise<string[]> {
  const own = await engine.listContainers({ all: true, filters: { label: [`${AGENT_LABEL}=${agent}`] } });
  const strays = own.filter(
    ({ Labels, Created }) => !isKnown(Labels[TASK_LABEL] ?? '') && nowMs - Created * 1_000 > STRAY_PERIOD_MS,
  );
  for (const { Id } of strays) await engine.getContainer(Id).remove({ force: true, v: true });
  return strays.flatMap(({ Names }) => Names);
}
