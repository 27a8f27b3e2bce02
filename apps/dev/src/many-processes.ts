import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort, SupervisedServer } from '@waybill/embedded';
import { readSettings, type ServiceState } from '@waybill/service';
import type { Cluster, ClusterEnvironment } from './cluster.js';

/** A service that is not ready after this long has failed. */
const READY_TIMEOUT_MS = 30_000;
const READY_PROBE_TIMEOUT_MS = 1_000;

/**
 * MiB that young objects may take, of which a service under load uses all: at half of it, collecting garbage took a tenth
 * more of all CPU. Each task is a fork of the agent, which costs the more the larger the agent is.
 */
const YOUNG_HEAP_MB = 64;
const YOUNG_HEAP_OF_AGENT_MB = 4;

interface Child {
  readonly name: string;
  readonly opsUrl: string;
  readonly server: SupervisedServer;
}

/** Every service in a process of its own, started again whenever it ends by itself, ended when we are gone. */
export async function startInManyProcesses(environment: ClusterEnvironment): Promise<Cluster> {
  const children = await Promise.all(environment.services.map((name) => childOf(name, environment)));
  const stop = async (): Promise<void> => {
    for (const child of children.toReversed()) await child.server.stop();
  };
  // All at once: what one needs of another it waits for, as in production, where nobody orders them.
  const starts = children.map((child) => child.server.start());
  try {
    await Promise.race([Promise.all(starts), interrupted(environment.signal)]);
  } catch (error) {
    await stop().catch(() => undefined);
    await Promise.allSettled(starts);
    throw error;
  }
  return { states: () => Promise.all(children.map(stateOf)), stop };
}

function interrupted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const end = (): void => reject(signal.reason as Error);
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
  });
}

async function childOf(name: string, { env, agentEnv, logDir, say }: ClusterEnvironment): Promise<Child> {
  const port = await freePort();
  const opsUrl = `http://127.0.0.1:${port}`;
  const main = fileURLToPath(new URL(`../../${name}/dist/main.js`, import.meta.url));
  const youngHeapMb = name === 'agent' ? YOUNG_HEAP_OF_AGENT_MB : YOUNG_HEAP_MB;
  const server = new SupervisedServer({
    server: name,
    port,
    dir: logDir,
    process: {
      command: process.execPath,
      args: ['--enable-source-maps', `--max-semi-space-size=${youngHeapMb}`, main],
      stopSignal: 'TERM',
      // An agent that ends in order stops its tasks, and the next one begins them anew. A killed agent leaves them running.
      ...(name === 'agent' && { orphanSignal: 'KILL' as const }),
      // It stops its tasks first, and they have their time for that.
      stopTakesMs: name === 'agent' ? readSettings(env, []).WAYBILL_MAX_KILL_TIMEOUT_MS : 0,
      cwd: process.cwd(),
      // NATS and PostgreSQL are started before, and a person is told at once that those of another place do not answer.
      env: {
        ...env,
        ...(name === 'agent' && agentEnv),
        WAYBILL_OPS_PORT: String(port),
        WAYBILL_START_WAITS: 'false',
      },
      logFile: path.join(logDir, `${name}.log`),
    },
    readyTimeoutMs: READY_TIMEOUT_MS,
    prepare: () => Promise.resolve(),
    isReady: async () => (await fetchReady(opsUrl)).ready,
    restart: true,
    brokenByFullDisk: false,
    onDiskFull: () => undefined, // the servers' own report is enough
    onExit: () => undefined, // told by `log`, as is that it is back
    log: say,
  });
  return { name, opsUrl, server };
}

async function fetchReady(opsUrl: string): Promise<{ ready: boolean; reasons: string[]; role?: string }> {
  const answer = await fetch(`${opsUrl}/readyz`, { signal: AbortSignal.timeout(READY_PROBE_TIMEOUT_MS) });
  return (await answer.json()) as { ready: boolean; reasons: string[]; role?: string };
}

async function stateOf(child: Child): Promise<ServiceState> {
  const pid = `pid ${child.server.pid}`;
  try {
    const { ready, reasons, role } = await fetchReady(child.opsUrl);
    return { name: child.name, ready, detail: `${reasons[0] ?? role ?? 'serving'}, ${pid}` };
  } catch {
    return { name: child.name, ready: false, detail: 'not answering' };
  }
}
