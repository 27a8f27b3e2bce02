import { createLogger } from '@waybill/telemetry';
import type { EndSignal, ServiceDefinition } from './definition.js';
import { Infrastructure } from './infrastructure.js';
import { assertStartable, RunningService } from './running-service.js';
import { describeSettings, readSettings, type SettingName, SettingsError } from './settings.js';

/** Exit codes: invalid configuration, and a failure while running, after which a restart may help. */
export const EXIT_CONFIGURATION = 78;
export const EXIT_FAILED = 1;

/**
 * A stop that takes longer than this and the service's own time is aborted. The successor finds everything in the log.
 */
const STOP_TIMEOUT_MS = 20_000;

/** Returns the variables without a default that a service requires. */
export function requiredSettings(definition: ServiceDefinition): SettingName[] {
  const required: SettingName[] = ['WAYBILL_NATS_URL'];
  if (definition.needs.state || definition.needs.database) required.push('WAYBILL_DATABASE_URL');
  return required;
}

/**
 * The `main` of a service: reads the environment, runs until SIGTERM or SIGINT, leaves if the service does that, and
 * stops in order. A second signal ends the leaving. SIGHUP reloads files (CL-924). A signal during the start ends the
 * process at once, and signals during the stop have no effect. The process exits with 0 after a clean stop, with
 * EXIT_CONFIGURATION and one line per problem, or otherwise with EXIT_FAILED.
 */
export async function runService(definition: ServiceDefinition): Promise<void> {
  if (process.argv.includes('--help')) {
    process.stdout.write(`waybill ${definition.name}: settings from the environment\n\n${describeSettings()}\n`);
    return;
  }
  const settings = readOrExit(definition);
  const logger = createLogger(definition.name, settings.WAYBILL_LOG_LEVEL, { format: settings.WAYBILL_LOG_FORMAT });
  const fail = (error: unknown): never => {
    logger.error('the service cannot go on', { error });
    process.exit(EXIT_FAILED);
  };
  process.on('unhandledRejection', fail);
  // A supervisor that repeats its signal, such as libs/embedded, must not abort the stop.
  for (const signal of END_SIGNALS) process.on(signal, () => undefined);
  const asked = nextSignal();
  const infrastructure = new Infrastructure({
    processName: definition.name,
    settings,
    logger,
    onFatal: fail,
    hasState: definition.needs.state,
    waits: settings.WAYBILL_START_WAITS,
    natsProof: definition.natsProof?.(settings),
  });
  const starting = RunningService.start(definition, settings, infrastructure, { processMetrics: true }).catch(fail);
  const service = await Promise.race([starting, asked.then(() => undefined)]);
  if (!service) {
    logger.info('stopped while it started'); // it has taken nothing yet that it could hand back
    process.exit(0);
  }
  logger.info('running', { ops: service.opsUrl });
  // At a terminal, SIGHUP means that the terminal was closed.
  if (!process.stdout.isTTY) process.on('SIGHUP', () => void service.reload());
  const signal = await asked;
  await Promise.race([service.leave(signal), nextSignal()]);
  logger.info('stopping');
  const timeoutMs = STOP_TIMEOUT_MS + service.stopTakesMs;
  const late = setTimeout(() => fail(new Error(`not stopped after ${timeoutMs} ms`)), timeoutMs);
  await service.stop();
  await infrastructure.close();
  clearTimeout(late);
  logger.info('stopped');
  process.exit(0);
}

function readOrExit(definition: ServiceDefinition): ReturnType<typeof readSettings> {
  try {
    const settings = readSettings(process.env, requiredSettings(definition));
    assertStartable(definition, settings);
    return settings;
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    for (const problem of error.problems) process.stderr.write(`waybill ${definition.name}: ${problem}\n`);
    process.exit(EXIT_CONFIGURATION);
  }
}

const END_SIGNALS = ['SIGTERM', 'SIGINT'] as const;

const nextSignal = (): Promise<EndSignal> =>
  new Promise((resolve) => {
    for (const signal of END_SIGNALS) process.once(signal, () => resolve(signal));
  });
