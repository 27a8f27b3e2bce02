import { type Driver, StartError, TaskNotFoundError } from '../driver.js';

/**
 * Returns a driver for a plugin that cannot be used: it is undetected, and its description says why (PG-27). No task
 * comes to it. A task of an earlier agent is not recovered.
 */
export function unusableDriver(name: string, reason: string): Driver {
  const notFound = async (taskId: string): Promise<never> => {
    throw new TaskNotFoundError(taskId);
  };
  return {
    name,
    fingerprint: async () => ({ health: 'undetected', description: reason, attributes: {} }),
    validate: () => {
      throw new StartError(reason);
    },
    prepare: ({ taskId }) => ({ driver: name, taskId, startedAtMs: 0, state: {} }),
    start: async () => {
      throw new StartError(reason);
    },
    recover: async () => false,
    wait: notFound,
    stop: notFound,
    signal: notFound,
    stats: notFound,
    destroy: async () => {},
  };
}
