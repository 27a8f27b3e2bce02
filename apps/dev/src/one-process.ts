import { createWriteStream } from 'node:fs';
import { once } from 'node:events';
import path from 'node:path';
import { beginServerLog } from '@waybill/embedded';
import { HistoryChangedError, Infrastructure, readSettings, RunningService, type ServiceState } from '@waybill/service';
import { createLogger } from '@waybill/telemetry';
import { type Cluster, type ClusterEnvironment, ServiceStartError } from './cluster.js';
import type { ServiceName } from './service-names.js';
import { SERVICES } from './services.js';

/**
 * Starts every service in this process. The services share one connection, one pool and one copy of the state; the
 * agent has a connection of its own.
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
  const agents = new Infrastructure({
    processName: 'agent',
    settings: agentSettings,
    logger,
    onFatal: environment.onFatal,
  });
  const start = async (name: ServiceName, infrastructure: Infrastructure): Promise<RunningService> => {
    const own = name === 'agent' ? agentSettings : settings;
    try {
      return await RunningService.start(SERVICES[name], own, infrastructure, { logTo, processMetrics: name === FIRST });
    } catch (error) {
      logger.error(`${name} does not start`, { error });
      throw new ServiceStartError(name, file, error);
    }
  };
  /**
   * Starts the services that have read the log. They start anew when an operator has decided which history of the log
   * counts.
   */
  const startServers = async (): Promise<Servers> => {
    const shared = new Infrastructure({
      processName: 'dev',
      settings,
      logger,
      onFatal,
      hasState: true,
      say: environment.say,
    });
    const running: RunningService[] = [];
    const servers = { shared, running };
    try {
      for (const name of await inOrder(environment.services, shared)) {
        environment.signal.throwIfAborted();
        running.push(await start(name, shared));
      }
      return servers;
    } catch (error) {
      await stopServers(servers).catch(() => undefined);
      throw error;
    }
  };
  let servers: Promise<Servers>;
  const onFatal = (error: Error): void => {
    if (!(error instanceof HistoryChangedError)) return environment.onFatal(error);
    environment.say('an operator has decided which history of the log counts: the services start anew');
    servers = servers.then(stopServers).then(startServers);
    servers.catch((reason: unknown) =>
      environment.onFatal(reason instanceof Error ? reason : new Error(String(reason))),
    );
  };
  const agent: RunningService[] = [];
  const stop = async (): Promise<void> => {
    for (const service of agent) await service.stop();
    await agents.close();
    await servers.then(stopServers, () => undefined);
    await new Promise<void>((resolve) => logFile.end(() => resolve()));
  };
  servers = startServers();
  try {
    await servers;
    if (environment.services.includes('agent')) agent.push(await start('agent', agents));
  } catch (error) {
    await stop().catch(() => undefined);
    throw error;
  }
  return {
    states: async (): Promise<ServiceState[]> => {
      const { running } = await servers;
      return [...running, ...agent].map((service) => service.state());
    },
    stop,
  };
}

interface Servers {
  readonly shared: Infrastructure;
  readonly running: readonly RunningService[];
}

async function stopServers({ shared, running }: Servers): Promise<void> {
  for (const service of running.toReversed()) await service.stop();
  await shared.close();
}

/** The service whose metrics include those of the process. */
const FIRST: ServiceName = 'projector';

/**
 * Returns the services in the order of their start. The API starts first if the log is not the one that Postgres knows:
 * all others then wait for an operator's decision, which the operator makes through the API.
 */
async function inOrder(services: readonly ServiceName[], shared: Infrastructure): Promise<readonly ServiceName[]> {
  const servers = services.filter((name) => name !== 'agent');
  if (servers.length === 0) return servers;
  const isSame = await shared
    .nats()
    .then(({ journal }) => journal.history.isSame())
    .catch(() => true); // the log cannot be asked: the first service says so when it starts
  return isSame ? servers : servers.toSorted((a, b) => Number(b === 'api') - Number(a === 'api'));
}
