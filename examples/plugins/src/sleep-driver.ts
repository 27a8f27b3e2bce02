import { setTimeout as sleep } from 'node:timers/promises';
import { type DriverPlugin, serveDriver, TaskNotFoundError } from '@waybill/plugin-sdk';

const running = new Map<string, ReturnType<typeof sleeper>>();
const find = (id: string) => {
  const task = running.get(id);
  if (!task) throw new TaskNotFoundError();
  return task;
};
const sleeper = (ms: number) => {
  const waking = new AbortController();
  const task = { stop: () => waking.abort(), hasEnded: false, ended: Promise.resolve() };
  task.ended = sleep(ms, undefined, waking).then(
    () => void (task.hasEnded = true),
    () => void (task.hasEnded = true),
  );
  return task;
};

const driver: DriverPlugin = {
  name: 'sleep',
  version: '0.1.0',
  taskSchema: { object: { attributes: { ms: { Attr: { type: 'number', required: true } } } } },
  async start({ id, config }) {
    const endsAt = Date.now() + Number(config['ms']);
    running.set(id, sleeper(endsAt - Date.now()));
    return { state: { endsAt } };
  },
  async recover({ id }, state) {
    const { endsAt } = state as { endsAt: number };
    running.set(id, sleeper(Math.max(0, endsAt - Date.now())));
  },
  async wait(id) {
    await find(id).ended;
    return { exitCode: 0 };
  },
  async stop(id) {
    find(id).stop();
  },
  async destroy(id, force) {
    if (!find(id).hasEnded && !force) throw new Error('cannot destroy running task');
    find(id).stop();
    running.delete(id);
  },
};

await serveDriver(driver);
