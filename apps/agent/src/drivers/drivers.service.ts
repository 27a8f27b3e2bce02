import { monotonicClock } from '@waybill/roles';
import type { ServiceContext } from '@waybill/service';
import { RotatingLog } from '../tasks/logs/rotating-log.js';
import { logSpec, type TaskOutputs } from '../tasks/logs/task-output.js';
import { DEFAULT_CAPABILITIES } from './capabilities.js';
import { DockerDriver } from './docker/docker-driver.js';
import { DEFAULT_ENDPOINT } from './docker/engine.transport.js';
import type { Driver } from './driver.js';
import { DEFAULT_CHROOT } from './exec/chroot.js';
import { ExecDriver } from './exec/exec-driver.js';
import { MockDriver } from './mock-driver.js';
import { RawExecDriver } from './raw-exec/raw-exec-driver.js';
import { NoCgroupsError, TaskCgroups } from './task-cgroups.store.js';
import { NoLimitsError, TaskLimits } from './task-limits.store.js';
import { below } from '../paths/path-name.js';

/** Returns all drivers that an agent has, by name. Each driver finds out itself whether the machine supports it. */
export async function driversOf(
  context: ServiceContext,
  dir: string,
  outputs: TaskOutputs,
  mhzPerCore: number,
): Promise<Map<string, Driver>> {
  const { clock, timers, logger, settings } = context;
  const allowedCapabilities = settings.WAYBILL_ALLOWED_CAPABILITIES ?? DEFAULT_CAPABILITIES;
  const mock = new MockDriver({
    clock,
    timers,
    random: context.random,
    openOutput: (config, type) => {
      const log = new RotatingLog(logSpec(config.paths.logsDir, config.task, type, config.logs));
      return { write: (text) => log.write(Buffer.from(text)), close: () => log.close() };
    },
  });
  const supervision = {
    runsDir: below(dir, 'runs'),
    outputs,
    mhzPerCore,
    cgroups: await resultOrReason(TaskCgroups.find(), NoCgroupsError),
  };
  if (supervision.cgroups instanceof NoCgroupsError)
    logger.warn('tasks get no cgroups: what starts a session of its own is not killed with its task', {
      reason: supervision.cgroups.message,
    });
  const rawExec = new RawExecDriver({
    ...supervision,
    enabled: settings.WAYBILL_RAW_EXEC_ENABLED,
    defaultUser: settings.WAYBILL_RAW_EXEC_USER,
    denials: {
      uids: settings.WAYBILL_RAW_EXEC_DENIED_UIDS,
      gids: settings.WAYBILL_RAW_EXEC_DENIED_GIDS,
      variables: settings.WAYBILL_RAW_EXEC_DENIED_ENVVARS,
    },
  });
  const exec = new ExecDriver({
    ...supervision,
    limits: await resultOrReason(TaskLimits.find(), NoLimitsError),
    chroot: Object.keys(settings.WAYBILL_CHROOT).length > 0 ? settings.WAYBILL_CHROOT : DEFAULT_CHROOT,
    allowedCapabilities,
  });
  const docker = new DockerDriver({
    endpoint: settings.WAYBILL_DOCKER_ENDPOINT || process.env['DOCKER_HOST'] || DEFAULT_ENDPOINT,
    policy: {
      volumes: settings.WAYBILL_DOCKER_VOLUMES,
      privileged: settings.WAYBILL_DOCKER_PRIVILEGED,
      allowedCapabilities,
    },
    imageGc: settings.WAYBILL_DOCKER_IMAGE_GC,
    infraImage: settings.WAYBILL_DOCKER_INFRA_IMAGE,
    infraImagePullTimeoutMs: settings.WAYBILL_DOCKER_INFRA_IMAGE_PULL_TIMEOUT_MS,
    agent: dir,
    outputs,
    mhzPerCore,
    clock,
    monotonic: monotonicClock,
    timers,
    logger,
  });
  const drivers = [...(settings.WAYBILL_MOCK_DRIVER_ENABLED ? [mock] : []), rawExec, exec, docker];
  const allowed = drivers.filter(({ name }) => isAllowedDriver(name, settings));
  return new Map<string, Driver>(allowed.map((driver) => [driver.name, driver]));
}

/** Whether the operator lets a driver run here (PG-30). An empty list of allowed names allows all. */
export const isAllowedDriver = (
  name: string,
  {
    WAYBILL_DRIVER_ALLOWLIST: allowed,
    WAYBILL_DRIVER_DENYLIST: denied,
  }: Pick<ServiceContext['settings'], 'WAYBILL_DRIVER_ALLOWLIST' | 'WAYBILL_DRIVER_DENYLIST'>,
): boolean => (allowed.length === 0 || allowed.includes(name)) && !denied.includes(name);

/** Returns the result, or the reason why there is none. */
async function resultOrReason<T, E extends Error>(
  found: Promise<T>,
  reason: new (message: string) => E,
): Promise<T | E> {
  try {
    return await found;
  } catch (error) {
    if (error instanceof reason) return error;
    throw error;
  }
}
