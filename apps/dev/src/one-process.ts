import { createWriteStream } from 'node:fs';
import { once } from 'node:events';
import path from 'node:path';
import { Infrastructure, readSettings, RunningService, type ServiceState } from '@waybill/service';
import { createLogger } from '@waybill/telemetry';
import type { Cluster, ClusterEnvironment } from './cluster.js';
import { SERVICES } from './services.js';

/** Every service in this process, sharing one connection, one pool and one copy of the state. */
export async function startInOneProcess(
  environment: ClusterEnvironment,
  onFatal: (error: Error) => void,
): Promise<Cluster> {
  const settings = readSettings(environment.env, ['WAYBILL_NATS_URL', 'WAYBILL_DATABASE_URL']);
  const logFile = createWriteStream(path.join(environment.logDir, 'waybill.log'), { flags: 'a', mode: 0o600 });
  await once(logFile, 'open');
  const logTo = { write: (line: string): void => void logFile.write(line) };
  const logger = createLogger('dev', settings.WAYBILL_LOG_LEVEL, {
    format: settings.WAYBILL_LOG_FORMAT,
    destination: logTo,
  });
  const infrastructure = new Infrastructure('dev', settings, logger, onFatal);
  const running: RunningService[] = [];
  const stop = async (): Promise<void> => {
    for (const service of running.toReversed()) await service.stop();
    await infrastructure.close();
    logFile.end();
    await once(logFile, 'finish');
  };
  try {
    for (const definition of SERVICES)
      running.push(
        await RunningService.start(definition, settings, infrastructure, {
          logTo,
          processMetrics: running.length === 0,
        }),
      );
  } catch (error) {
    await stop().catch(() => undefined);
    throw error;
  }
  return { states: (): ServiceState[] => running.map((service) => service.state()), stop };
}
