import { createWriteStream } from 'node:fs';
import { once } from 'node:events';
import path from 'node:path';
import { beginServerLog } from '@waybill/embedded';
import { Infrastructure, readSettings, RunningService, type ServiceState } from '@waybill/service';
import { createLogger } from '@waybill/telemetry';
import { type Cluster, type ClusterEnvironment, ServiceStartError } from './cluster.js';
import { SERVICES } from './services.js';

/**
 * Every service in this process, sharing one connection, one pool and one copy of the state; the agent has a connection of
 * its own.
 */
export async function startInOneProcess(environment: ClusterEnvironment): Promise<Cluster> {
  const settings = readSettings(environment.env, ['WAYBILL_NATS_URL', 'WAYBILL_DATABASE_URL']);
  const file = path.join(environment.logDir, 'waybill.log');
  beginServerLog(file); // so that it does not grow for ever
  const logFile = createWriteStream(file, { flags: 'a', mode: 0o600 });
  await once(logFile, 'open');
  logFile.on('error', () => undefined); // a full disk: the servers' own report is enough
  const logTo = { write: (line: string): void => void logFile.write(line) };
  const logger = createLogger('dev', settings.WAYBILL_LOG_LEVEL, {
    format: settings.WAYBILL_LOG_FORMAT,
    destination: logTo,
  });
  const agentSettings = readSettings({ ...environment.env, ...environment.agentEnv }, ['WAYBILL_NATS_URL']);
  const shared = new Infrastructure('dev', settings, logger, environment.onFatal);
  const agents = new Infrastructure('agent', agentSettings, logger, environment.onFatal);
  const running: RunningService[] = [];
  const stop = async (): Promise<void> => {
    for (const service of running.toReversed()) await service.stop();
    await agents.close();
    await shared.close();
    await new Promise<void>((resolve) => logFile.end(() => resolve()));
  };
  for (const name of environment.services)
    try {
      environment.signal.throwIfAborted();
      const processMetrics = running.length === 0;
      const [own, infrastructure] = name === 'agent' ? [agentSettings, agents] : [settings, shared];
      running.push(await RunningService.start(SERVICES[name], own, infrastructure, { logTo, processMetrics }));
    } catch (error) {
      logger.error(`${name} does not start`, { error });
      await stop().catch(() => undefined);
      throw new ServiceStartError(name, file, error);
    }
  return { states: (): ServiceState[] => running.map((service) => service.state()), stop };
}
