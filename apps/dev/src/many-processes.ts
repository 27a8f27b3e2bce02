import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort, SupervisedServer } from '@waybill/embedded';
import { readSettings, type ServiceState } from '@waybill/service';
import type { Cluster, ClusterEnvironment } from './cluster.js';

/** The time after which a service that is not ready has failed. */
const READY_TIMEOUT_MS = 30_000;
const READY_PROBE_TIMEOUT_MS = 1_000;

/**
 * The room for young objects in MiB. A service under load uses all of it: with half of it, garbage collection took a
 * tenth more of all CPU. The agent gets less, because each task is a fork of the agent, and a fork costs more the
 * larger the agent is.
 */
const YOUNG_HEAP_MB = 64;
const YOUNG_HEAP_OF_AGENT_MB = 4;

interface Child {
  readonly name: string;
  readonly opsUrl: string;
  readonly server: SupervisedServer;
}

/**
 * Starts every service in a process of its own. A service that ends by itself is started again. All services end when
 * this process has gone.
 */
export async function startInManyProcesses(environment: ClusterEnvironment): Promise<Cluster> {
  const children = await Promise.all(environment.services.map((name) => childOf(name, environment)));
  const stop = async (): Promise<void> => {
    for (const child of children.toReversed()) await child.server.stop();
  };
  // All services start at once. Each waits for the others that it needs, as in production, where nobody orders them.
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
      // An agent that ends in order stops its tasks, and the next agent starts them anew. A killed agent leaves them
      // running.
      ...(name === 'agent' && { orphanSignal: 'KILL' as const }),
      // The agent stops its tasks first, so its stop may take as long as theirs.
      stopTakesMs: name === 'agent' ? readSettings(env, []).WAYBILL_MAX_KILL_TIMEOUT_MS : 0,
      cwd: process.cwd(),
      // NATS and PostgreSQL are started before. If servers elsewhere do not answer, a person sees that at once.
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
