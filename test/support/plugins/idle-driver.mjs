// A driver whose tasks do nothing, with statistics: what it costs the agent is all that benchmarks see.
import { serveDriver, TaskNotFoundError } from '@waybill/plugin-sdk';

/** @type {Map<string, { ended: Promise<void>, end: () => void }>} */
const tasks = new Map();
/** @param {string} id */
const find = (id) => {
  const task = tasks.get(id);
  if (!task) throw new TaskNotFoundError();
  return task;
};
/** @param {string} id */
const begin = (id) => {
  let end = () => {};
  const ended = new Promise((/** @type {(value: void) => void} */ resolve) => (end = resolve));
  tasks.set(id, { ended, end });
};

await serveDriver({
  name: 'idle',
  version: '0.1.0',
  taskSchema: { object: { attributes: {} } },
  start: async ({ id }) => {
    begin(id);
    return { state: {} };
  },
  recover: async ({ id }) => begin(id),
  wait: async (id) => {
    await find(id).ended;
    return { exitCode: 0 };
  },
  stop: async (id) => find(id).end(),
  destroy: async (id) => {
    find(id).end();
    tasks.delete(id);
  },
  usage: async () => ({ cpuPercent: 12.5, memoryBytes: 64 * 1024 * 1024 }),
});
