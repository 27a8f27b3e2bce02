import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, createWriteStream, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort, type Stack, type StackOptions } from '@waybill/embedded';
import { ApiClient } from './api-client.js';
import { AGENT_OF_TESTS } from './agent-of-tests.js';
import { startMigratedStack } from './begun-databases.js';
import { killProcessesOf } from './launcher.js';
import { ServiceHost } from './service-host.js';
import { eventually } from './wait.js';

export const CONTROL_PLANE = ['projector', 'broker', 'scheduler', 'nodes', 'deployments', 'volumes', 'api'] as const;
export type ServiceName = (typeof CONTROL_PLANE)[number] | 'agent';

const EVERYTHING: readonly ServiceName[] = [...CONTROL_PLANE, 'agent'];

/** Eight processes that start at once on two busy cores, whose disk may stand still for a while. */
const READY_TIMEOUT_MS = 200_000;

interface Running {
  child: ChildProcess;
  opsUrl: string;
}

/** A process that is to become ready has ended instead. */
class ExitedWhileStartingError extends Error {
  override readonly name = 'ExitedWhileStartingError';
  constructor(as: string, ending: number | string | null) {
    super(`${as} ended with ${ending} while it started`);
  }
}

/**
 * A whole Waybill on a NATS and a Postgres of its own: every service its own process, for tests that break things, or in
 * one all that a test does not break.
 */
export class WaybillProcesses {
  readonly running = new Map<string, Running>();
  /** What all services share as long as nothing is broken on purpose. */
  private together: ServiceHost | undefined;
  private constructor(
    readonly stack: Stack,
    readonly dir: string,
    readonly api: ApiClient,
    private readonly env: NodeJS.ProcessEnv,
  ) {}

  /** Every service its own process. */
  static start(
    extraEnv: NodeJS.ProcessEnv = {},
    services: readonly ServiceName[] = EVERYTHING,
    { syncInterval }: Pick<StackOptions, 'syncInterval'> = {},
  ): Promise<WaybillProcesses> {
    const begin = async (waybill: WaybillProcesses): Promise<void> => {
      await Promise.all(services.map((name) => waybill.startService(name)));
    };
    return WaybillProcesses.around(extraEnv, begin, syncInterval);
  }

  /**
   * All services in one process, where nothing can be killed alone or asked for its metrics; but those `apart`.
   *
   * @param extraEnvApart what the environment of one that is apart says besides
   */
  static startTogether(
    extraEnv: NodeJS.ProcessEnv = {},
    services: readonly ServiceName[] = EVERYTHING,
    apart: readonly ServiceName[] = [],
    { syncInterval }: Pick<StackOptions, 'syncInterval'> = {},
    extraEnvApart: (name: ServiceName) => NodeJS.ProcessEnv = () => ({}),
  ): Promise<WaybillProcesses> {
    const begin = async (waybill: WaybillProcesses): Promise<void> => {
      const shared = services.filter((name) => !apart.includes(name));
      await Promise.all([
        ...(shared.length > 0 ? [waybill.startAsOne(shared)] : []),
        ...apart.map((name) => waybill.startService(name, name, extraEnvApart(name))),
      ]);
    };
    return WaybillProcesses.around(extraEnv, begin, syncInterval);
  }

  private static async around(
    extraEnv: NodeJS.ProcessEnv,
    begin: (waybill: WaybillProcesses) => Promise<void>,
    syncInterval?: string,
  ): Promise<WaybillProcesses> {
    const dir = mkdtempSync(path.join(tmpdir(), 'waybill-test-'));
    chmodSync(dir, 0o711); // root's PostgreSQL user passes through
    const stack = await startMigratedStack({ restart: true, dir: path.join(dir, 'stack'), syncInterval });
    const httpPort = await freePort();
    const env = {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      WAYBILL_NATS_URL: stack.natsUrl,
      WAYBILL_DATABASE_URL: stack.databaseUrl,
      WAYBILL_HTTP_PORT: String(httpPort),
      WAYBILL_LEASE_TTL_MS: '2000',
      WAYBILL_LOG_FORMAT: 'line',
      WAYBILL_AGENT_DIR: path.join(dir, 'agent'),
      WAYBILL_NODE_NAME: 'test-node',
      WAYBILL_AGENT_STOP_TASKS_ON_EXIT: 'true',
      ...AGENT_OF_TESTS,
      ...extraEnv,
    };
    const waybill = new WaybillProcesses(stack, dir, new ApiClient(`http://127.0.0.1:${httpPort}`), env);
    try {
      await begin(waybill);
    } catch (error) {
      await waybill.stop();
      throw error;
    }
    return waybill;
  }

  private async startAsOne(services: readonly ServiceName[]): Promise<void> {
    const order = { env: this.env, logDir: this.dir, services };
    this.together = await ServiceHost.start(order, READY_TIMEOUT_MS);
  }

  /** Why services that share one process are not ready. */
  get illTogether(): readonly string[] {
    return this.together?.notReady ?? [];
  }

  /**
   * Starts one more process of a service; `as` names it when there are several.
   * @throws ExitedWhileStartingError
   */
  async startService(name: ServiceName, as: string = name, extraEnv: NodeJS.ProcessEnv = {}): Promise<void> {
    const port = await freePort();
    const opsUrl = `http://127.0.0.1:${port}`;
    const main = fileURLToPath(new URL(`../../apps/${name}/dist/main.js`, import.meta.url));
    const log = createWriteStream(path.join(this.dir, `${as}.log`), { flags: 'a' });
    await once(log, 'open');
    const child = spawn(process.execPath, ['--enable-source-maps', main], {
      env: { ...this.env, WAYBILL_OPS_PORT: String(port), ...extraEnv },
      stdio: ['ignore', log, log],
    });
    this.running.set(as, { child, opsUrl });
    const isExited = (): boolean => child.exitCode !== null || child.signalCode !== null;
    await eventually(
      `${as} is ready (log: ${path.join(this.dir, `${as}.log`)})`,
      async () => isExited() || (await fetch(`${opsUrl}/readyz`)).ok,
      READY_TIMEOUT_MS,
    );
    if (isExited()) throw new ExitedWhileStartingError(as, child.exitCode ?? child.signalCode);
  }

  /** As a supervisor does: a service that ends while it starts, to start anew with another history, is started again. */
  async startSupervised(...start: Parameters<WaybillProcesses['startService']>): Promise<void> {
    for (const deadline = performance.now() + READY_TIMEOUT_MS; ;)
      try {
        return await this.startService(...start);
      } catch (error) {
        if (!(error instanceof ExitedWhileStartingError) || performance.now() > deadline) throw error;
      }
  }

  pid(name: string): number {
    const pid = this.running.get(name)?.child.pid;
    if (pid === undefined) throw new Error(`${name} does not run`);
    return pid;
  }

  opsUrl(name: string): string {
    return this.running.get(name)?.opsUrl ?? '';
  }

  /** Kills without notice and waits until it is gone. */
  async kill(name: string, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const entry = this.running.get(name);
    if (!entry) return;
    this.running.delete(name);
    if (entry.child.exitCode !== null || entry.child.signalCode !== null) return;
    const exited = once(entry.child, 'exit');
    entry.child.kill(signal);
    await exited;
  }

  async stop(): Promise<void> {
    const end = (names: readonly string[]): Promise<unknown> =>
      Promise.all(names.map((name) => this.kill(name, 'SIGTERM')));
    // The agents first: they end the tasks.
    await end([...this.running.keys()].filter((name) => name.startsWith('agent')));
    await Promise.all([end([...this.running.keys()]), this.together?.stop()]);
    await this.stack.stop();
    killProcessesOf(this.dir); // tasks of agents that were killed
    if (!process.env['KEEP_TEST_DIR']) rmSync(this.dir, { recursive: true, force: true, maxRetries: 5 });
  }
}
