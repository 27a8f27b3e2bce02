import { setTimeout as pause } from 'node:timers/promises';
import { PluginError } from '../errors.js';
import type { CapabilitiesMessage, TaskHandleMessage } from '../messages.js';
import { type Checks, expectSoon, expectThat, SkippedCheck } from './checks.js';
import { checkCommands } from './exec-checks.js';
import { type DriverUnderCheck, encodedSample } from './task-samples.js';
import type { TriedPlugin } from './tried-plugin.js';
import { TriedTask } from './tried-task.js';

const STATS_INTERVAL_MS = 1_000;
const STOP_TIMEOUT_MS = 5_000;
/** The time within which an ended task is known to have ended. */
const NOTICE_MS = 5_000;
/** A task that runs this long after something was done to it has survived it. */
const SURVIVES_MS = 300;

/** Starts, looks at, recovers, stops and destroys tasks of a driver. */
export async function checkTasks(checks: Checks, plugin: TriedPlugin, driver: DriverUnderCheck): Promise<void> {
  const task = await TriedTask.make(plugin.dir, 'long', driver.encoded);
  try {
    let handle: TaskHandleMessage | undefined;
    await checks.run('tasks: StartTask starts a task and returns its handle', async () => {
      const started = await plugin.driver.startTask(task.message);
      expectThat(started.handle !== null, started.driver_error_msg || 'it returned no handle');
      handle = started.handle;
    });
    if (!handle) {
      checks.skip('tasks: all further checks', 'no task runs');
      return;
    }
    await checkRunning(checks, plugin, task, handle);
    await checkStats(checks, plugin, task);
    await checkSignal(checks, plugin, task, driver.capabilities);
    await checkCommands(checks, plugin, task, driver);
    await checkRecovery(checks, plugin, task, handle);
    await checkEnd(checks, plugin, task);
  } finally {
    await plugin.driver.destroyTask(task.id, true).catch(() => undefined);
    task.close();
  }
  await checkShortTask(checks, plugin, driver);
  await checkWrongTask(checks, plugin);
}

async function checkRunning(
  checks: Checks,
  plugin: TriedPlugin,
  task: TriedTask,
  handle: TaskHandleMessage,
): Promise<void> {
  await checks.run('tasks: the handle names its task', async () => {
    expectThat(handle.config?.id === task.id, `its task is ${JSON.stringify(handle.config?.id ?? null)}`);
    expectThat(handle.state !== 'EXITED', 'its state is EXITED'); // many drivers leave it out
  });
  await checks.run('tasks: InspectTask says that the task runs', async () => {
    const { task: found } = await inspected(plugin, task);
    expectThat(found?.id === task.id, 'it has another ID');
    expectThat(found.state === 'RUNNING', `its state is ${found.state}`);
  });
  await checks.run('tasks: an ID cannot be started twice', async () => {
    const again = await outcomeOf(plugin.driver.startTask(task.message));
    expectThat(again instanceof PluginError, 'it was started again');
  });
  await checks.run('tasks: DestroyTask without force leaves a running task alone', async () => {
    const destroyed = await outcomeOf(plugin.driver.destroyTask(task.id, false));
    expectThat(destroyed instanceof PluginError, 'it was destroyed');
    expectThat(await isRunning(plugin, task), 'the task has ended');
  });
}

async function inspected(plugin: TriedPlugin, task: TriedTask) {
  try {
    return await plugin.driver.inspectTask(task.id);
  } catch (error) {
    if (error instanceof PluginError && error.isUnimplemented) throw new SkippedCheck('it is not implemented');
    throw error;
  }
}

/** Whether a wait for the task stays open. */
async function isRunning(plugin: TriedPlugin, task: TriedTask): Promise<boolean> {
  const ended = plugin.driver.waitTask(task.id).then(
    () => false,
    () => false,
  );
  return Promise.race([ended, pause(SURVIVES_MS, true)]);
}

/** Returns undefined, or the error. */
const outcomeOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => undefined,
    (error: unknown) => error,
  );

async function checkStats(checks: Checks, plugin: TriedPlugin, task: TriedTask): Promise<void> {
  await checks.run('tasks: TaskStats has the use of the task, more than once', async (signal) => {
    let seen = 0;
    try {
      for await (const { agg_resource_usage: usage } of plugin.driver.taskStats(task.id, STATS_INTERVAL_MS, signal)) {
        const fields = [...(usage?.cpu?.measured_fields ?? []), ...(usage?.memory?.measured_fields ?? [])];
        expectThat(fields.length > 0, 'it says of no value that it was measured');
        seen++;
        if (seen === 2) return fields.join(', ');
      }
    } catch (error) {
      if (error instanceof PluginError && error.isUnimplemented) throw new SkippedCheck('it is not implemented');
      throw error;
    }
    throw new Error(`the stream ended after ${seen} answers`);
  });
}

async function checkSignal(
  checks: Checks,
  plugin: TriedPlugin,
  task: TriedTask,
  { send_signals: sends }: CapabilitiesMessage,
): Promise<void> {
  await checks.run('tasks: SignalTask sends a signal', async () => {
    if (!sends) throw new SkippedCheck('the driver sends no signals');
    await plugin.driver.signalTask(task.id, 'SIGCONT');
    expectThat(await isRunning(plugin, task), 'the task has ended');
  });
}

async function checkRecovery(
  checks: Checks,
  plugin: TriedPlugin,
  task: TriedTask,
  handle: TaskHandleMessage,
): Promise<void> {
  await checks.run('recovery: waits end when the plugin is killed', async () => {
    const waiting = outcomeOf(plugin.driver.waitTask(task.id));
    await plugin.restart();
    expectThat((await waiting) instanceof Error, 'a wait has got a result');
  });
  await checks.run('recovery: a new process does not know the task before its recovery', async () => {
    const found = await outcomeOf(plugin.driver.waitTask(task.id));
    expectThat(found instanceof PluginError && found.isTaskNotFound, 'it knows the task');
  });
  await checks.run('recovery: RecoverTask finds the task again by its handle', async () => {
    const failed = await outcomeOf(plugin.driver.recoverTask(handle));
    if (!(failed instanceof Error)) {
      expectThat(await isRunning(plugin, task), 'the task has ended');
      return;
    }
    await plugin.driver.destroyTask(task.id, true).catch(() => undefined);
    await plugin.driver.startTask(task.message); // the next checks need a task
    throw new SkippedCheck(`tasks of this driver end with it: ${failed.message}`);
  });
  await checks.run('recovery: RecoverTask a second time is no error', async () => {
    await plugin.driver.recoverTask(handle);
  });
}

async function checkEnd(checks: Checks, plugin: TriedPlugin, task: TriedTask): Promise<void> {
  await checks.run('ending: StopTask ends the task, and every wait gets its result', async () => {
    const waits = [1, 2].map(() => plugin.driver.waitTask(task.id));
    await plugin.driver.stopTask(task.id, STOP_TIMEOUT_MS, 'SIGTERM');
    const results = await Promise.all(waits);
    expectThat(
      results.every(({ result }) => result !== null),
      `it has no result: ${results[0]?.err}`,
    );
  });
  await checks.run('ending: a wait for an ended task gets a result at once', async () => {
    const { result, err } = await plugin.driver.waitTask(task.id);
    expectThat(result !== null, `it has no result: ${err}`);
  });
  await checks.run('ending: InspectTask says that the task has ended', async () => {
    const { task: found } = await inspected(plugin, task);
    expectThat(found?.state === 'EXITED', `its state is ${found?.state}`);
  });
  await checks.run('ending: a destroyed task is not there any more', async () => {
    await plugin.driver.destroyTask(task.id, false);
    for (const call of [() => plugin.driver.waitTask(task.id), () => plugin.driver.destroyTask(task.id, true)]) {
      const found = await outcomeOf(call());
      expectThat(found instanceof PluginError && found.isTaskNotFound, 'it is still known');
    }
  });
}

async function checkShortTask(checks: Checks, plugin: TriedPlugin, driver: DriverUnderCheck): Promise<void> {
  const { shortTask, exitCode = 0, says } = driver.samples;
  const name = 'tasks: a task that ends by itself has its exit code and its output';
  if (!shortTask) {
    checks.skip(name, 'no configuration of such a task is given');
    return;
  }
  const encoded = encodedSample(driver.schema, shortTask);
  if (typeof encoded === 'string') {
    checks.skip(name, `the given configuration does not fit: ${encoded}`);
    return;
  }
  const task = await TriedTask.make(plugin.dir, 'short', encoded);
  try {
    await checks.run(name, async () => {
      await plugin.driver.startTask(task.message);
      const { result, err } = await plugin.driver.waitTask(task.id);
      expectThat(err === '', `it has the error ${err}`);
      expectThat(result?.exit_code === exitCode, `its exit code is ${result?.exit_code}, not ${exitCode}`);
      if (says === undefined || driver.capabilities.disable_log_collection) return;
      await expectSoon(() => task.output.includes(says), `its output is ${JSON.stringify(task.output)}`, NOTICE_MS);
    });
  } finally {
    await plugin.driver.destroyTask(task.id, true).catch(() => undefined);
    task.close();
  }
}

async function checkWrongTask(checks: Checks, plugin: TriedPlugin): Promise<void> {
  const task = await TriedTask.make(plugin.dir, 'wrong', Uint8Array.of(0x83, 0xa1));
  try {
    await checks.run('tasks: StartTask refuses a configuration that is no MsgPack', async () => {
      const refused = await outcomeOf(plugin.driver.startTask(task.message));
      expectThat(!plugin.process.connection.isClosed, 'the plugin ended');
      expectThat(refused instanceof PluginError, 'it was started');
    });
  } finally {
    await plugin.driver.destroyTask(task.id, true).catch(() => undefined);
    task.close();
  }
}
