import { encode } from '@msgpack/msgpack';
import { describe, expect, it } from 'vitest';
import { type DriverExit, type DriverPlugin, driverService } from './driver-plugin.js';

const taskMessage = { id: 't', name: 'web', msgpack_driver_config: encode({}), alloc_dir: '/a' };

/** A driver whose tasks start and end on command. Its waits for tasks that are not there stay open. */
function aDriver() {
  const pending: { readonly succeed: () => void; readonly fail: () => void }[] = [];
  const waiting: ((exit: DriverExit) => void)[] = [];
  const driver: DriverPlugin = {
    name: 'd',
    version: '0.1.0',
    taskSchema: { object: { attributes: {} } },
    start: () =>
      new Promise((resolve, reject) => {
        pending.push({ succeed: () => resolve({ state: {} }), fail: () => reject(new Error('no')) });
      }),
    recover: async () => {},
    wait: () => new Promise((resolve) => void waiting.push(resolve)),
    stop: async () => {},
    destroy: async () => {},
  };
  const service = driverService(driver);
  /** Calls a method as gRPC does. Resolves with its answer. */
  const call = (method: string, request: object): Promise<object> =>
    new Promise((resolve, reject) => {
      const done = (error: { details: string } | null, answer?: object): void =>
        error ? reject(new Error(error.details)) : resolve(answer ?? {});
      Reflect.apply(service[method]!, undefined, [{ request }, done]);
    });
  const start = (): Promise<object> => call('StartTask', { task: taskMessage });
  return { pending, waiting, call, start };
}

describe('the start of a task', () => {
  it('PG-55: happens once, however many callers start it together', async () => {
    const { pending, start } = aDriver();
    const first = start();
    await expect(start()).rejects.toThrow('task with ID "t" already started');
    expect(pending).toHaveLength(1);
    pending[0]?.succeed();
    expect(await first).toMatchObject({ result: 'SUCCESS' });
    await expect(start()).rejects.toThrow('already started');
  });

  it('PG-55: is possible again after it failed, and after the task was destroyed', async () => {
    const { pending, call, start } = aDriver();
    const failed = start();
    pending[0]?.fail();
    await expect(failed).rejects.toThrow('no');
    const second = start();
    pending[1]?.succeed();
    await second;
    await call('DestroyTask', { task_id: 't', force: true });
    const third = start();
    pending[2]?.succeed();
    expect(await third).toMatchObject({ result: 'SUCCESS' });
  });

  it('PG-61: does not mind that somebody waited for its ID before', async () => {
    const { pending, waiting, call, start } = aDriver();
    void call('WaitTask', { task_id: 't' });
    const started = start();
    pending[0]?.succeed();
    expect(await started).toMatchObject({ result: 'SUCCESS' });
    const ended = call('WaitTask', { task_id: 't' });
    waiting.at(-1)?.({ exitCode: 3 });
    expect(await ended).toMatchObject({ result: { exit_code: 3 } });
  });
});
