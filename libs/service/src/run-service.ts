import { createLogger } from '@waybill/telemetry';
import type { EndSignal, ServiceDefinition } from './definition.js';
import { Infrastructure } from './infrastructure.js';
import { assertStartable, RunningService } from './running-service.js';
import { describeSettings, readSettings, type SettingName, SettingsError } from './settings.js';

/** Exit codes: the configuration is wrong; something failed while running (start me again). */
export const EXIT_CONFIGURATION = 78;
export const EXIT_FAILED = 1;

/** A stop that takes longer than this, and than what the service has asked for, is cut off; whoever takes over finds everything in the log. */
const STOP_TIMEOUT_MS = 20_000;

/** Variables without default that a service cannot do without. */
export function requiredSettings(definition: ServiceDefinition): SettingName[] {
  const required: SettingName[] = ['WAYBILL_NATS_URL'];
  if (definition.needs.state || definition.needs.database) required.push('WAYBILL_DATABASE_URL');
  return required;
}

/**
 * The `main` of a service: reads the environment, runs until SIGTERM or SIGINT, leaves if it does that, stops in order;
 * a second signal ends the leaving. SIGHUP has it read its files anew (CL-924). A signal while it starts ends it at once; those
 * while it stops change nothing.
 * Ends the process: 0 after a clean stop, EXIT_CONFIGURATION with one line per problem, EXIT_FAILED otherwise.
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
  // Whoever asks again and again, as libs/embedded does, must not cut the stop short.
  for (const signal of END_SIGNALS) process.on(signal, () => undefined);
  const asked = nextSignal();
  const infrastructure = new Infrastructure({
    processName: definition.name,
    settings,
    logger,
    onFatal: fail,
    hasState: definition.needs.state,
    waits: settings.WAYBILL_START_WAITS,
  });
  const starting = RunningService.start(definition, settings, infrastructure, { processMetrics: true }).catch(fail);
  const service = await Promise.race([starting, asked.then(() => undefined)]);
  if (!service) {
    logger.info('stopped while it started'); // it has taken nothing yet that it could hand back
    process.exit(0);
  }
  logger.info('running', { ops: service.opsUrl });
  // At a terminal it means that the terminal is gone.
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
