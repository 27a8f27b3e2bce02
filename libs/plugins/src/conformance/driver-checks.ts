import { attributeFault } from '../attribute.js';
import type { ConfigSchema } from '../config-schema/config-schema.js';
import { PluginError } from '../errors.js';
import type { CapabilitiesMessage } from '../messages.js';
import { type Checks, expectThat, SkippedCheck } from './checks.js';
import { checkTasks } from './task-checks.js';
import { encodedSample, type TaskSamples } from './task-samples.js';
import type { TriedPlugin } from './tried-plugin.js';

const UNKNOWN_ID = '00000000-0000-4000-8000-000000000000/none/none';
const HEALTH = new Set(['UNDETECTED', 'UNHEALTHY', 'HEALTHY']);

/** Checks the service of a configured driver (section 5 of the reference). */
export async function checkDriver(
  checks: Checks,
  plugin: TriedPlugin,
  name: string,
  samples: TaskSamples,
): Promise<void> {
  let schema: ConfigSchema | undefined;
  let capabilities: CapabilitiesMessage | undefined;
  await checks.run('driver: TaskConfigSchema is a schema', async () => {
    schema = await plugin.driver.taskConfigSchema();
  });
  await checks.run('driver: Capabilities are known ones', async () => {
    capabilities = await plugin.driver.capabilities();
    const { fs_isolation: files, network_isolation_modes: modes, mount_configs: mounts } = capabilities;
    return `files ${files}, networks ${modes.join('+') || 'HOST'}, mounts ${mounts}`;
  });
  let isHealthy = false;
  for (const time of ['at once', 'again when it is asked again'])
    await checks.run(`driver: Fingerprint says ${time} whether the driver can run tasks`, async (signal) => {
      for await (const { attributes, health, health_description: why, err } of plugin.driver.fingerprint(signal)) {
        expectThat(err === '', `it says: ${err}`);
        expectThat(HEALTH.has(health), `${health} is no health`);
        const faults = Object.entries(attributes).flatMap(([key, value]) => {
          const fault = attributeFault(value);
          return fault === undefined ? [] : [`attribute "${key}": ${fault}`];
        });
        expectThat(faults.length === 0, faults.join(', '));
        isHealthy = health === 'HEALTHY';
        return `${health}${why === '' ? '' : `: ${why}`}`;
      }
      throw new Error('the stream ended without an answer');
    });
  await checks.run('driver: TaskEvents stays open', async (signal) => {
    const leaving = new AbortController();
    const events = plugin.driver.taskEvents(AbortSignal.any([signal, leaving.signal]));
    const ended = events.next().then(
      ({ done }) => done === true,
      () => true,
    );
    await plugin.driver.capabilities(); // a stream that is refused is refused by then
    const isOpen = await Promise.race([ended.then((isOver) => !isOver), plugin.base.info().then(() => true)]);
    leaving.abort();
    expectThat(isOpen, 'it ended at once');
  });
  await checkUnknownTask(checks, plugin);
  const encoded = schema && samples.task && encodedSample(schema, samples.task);
  const why = whyNoTasks(schema, capabilities, samples, isHealthy, encoded);
  if (why !== undefined || !schema || !capabilities || !(encoded instanceof Uint8Array)) {
    checks.skip('tasks: all checks', why ?? 'the schema is not known');
    return;
  }
  await checkTasks(checks, plugin, { name, schema, capabilities, samples, encoded });
}

function whyNoTasks(
  schema: ConfigSchema | undefined,
  capabilities: CapabilitiesMessage | undefined,
  { task }: TaskSamples,
  isHealthy: boolean,
  encoded: Uint8Array | string | undefined,
): string | undefined {
  if (!schema || !capabilities) return 'the driver does not say what it can do';
  if (!task) return 'no configuration of a task is given';
  if (typeof encoded === 'string') return `the given configuration of a task does not fit: ${encoded}`;
  if (capabilities.must_create_network) return 'the driver makes networks, which the check does not do';
  return isHealthy ? undefined : 'the driver is not healthy on this machine';
}

async function checkUnknownTask(checks: Checks, plugin: TriedPlugin): Promise<void> {
  const calls: readonly (readonly [string, () => Promise<unknown>])[] = [
    ['WaitTask', () => plugin.driver.waitTask(UNKNOWN_ID)],
    ['InspectTask', () => plugin.driver.inspectTask(UNKNOWN_ID)],
    ['StopTask', () => plugin.driver.stopTask(UNKNOWN_ID, 1_000, 'SIGTERM')],
    ['DestroyTask', () => plugin.driver.destroyTask(UNKNOWN_ID, true)],
  ];
  for (const [method, call] of calls)
    await checks.run(`driver: ${method} does not find a task that is not there`, async () => {
      const error = await call().then(
        () => undefined,
        (refusal: unknown) => refusal,
      );
      expectThat(!plugin.process.connection.isClosed, 'the plugin ended');
      if (error instanceof PluginError && error.isUnimplemented) throw new SkippedCheck('it is not implemented');
      expectThat(error instanceof PluginError, 'it has no error');
      expectThat(error.isTaskNotFound, `its error does not end with "task not found for given id": ${error.message}`);
    });
}
