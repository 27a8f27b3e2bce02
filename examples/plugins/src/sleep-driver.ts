import { type DriverPlugin, serveDriver, TaskNotFoundError } from '@waybill/plugin-sdk';

const running = new Map<string, { stop: () => void; ended: Promise<void> }>();
const find = (id: string) => {
  const task = running.get(id);
  if (!task) throw new TaskNotFoundError();
  return task;
};
const sleeper = (ms: number) => {
  let stop = () => {};
  const ended = new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    stop = () => (clearTimeout(timer), resolve());
  });
  return { stop, ended };
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
  async destroy(id) {
    find(id).stop();
    running.delete(id);
  },
};

await serveDriver(driver);
