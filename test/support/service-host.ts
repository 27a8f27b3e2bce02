import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export type ToServices =
  | {
      readonly kind: 'start';
      readonly env: NodeJS.ProcessEnv;
      readonly logDir: string;
      readonly services: readonly string[];
    }
  | { readonly kind: 'stop' };

export type FromServices =
  | { readonly kind: 'ready' }
  /** Other services than before are not ready: all that are not, and why. */
  | { readonly kind: 'not ready'; readonly reasons: readonly string[] }
  | { readonly kind: 'stopped' };

const MAIN = fileURLToPath(new URL('../../test/support/services-together.mjs', import.meta.url));
/** What Node or the loader reads when a process starts: such an environment needs a process of its own. */
const READ_AT_START = /^(NODE_|LD_)/;
/** After so many clusters, what each of them left behind in memory goes with the process. */
const MOST_STARTS = 20;

/**
 * A process in which services run together, one cluster after the other. A worker of the test runner keeps those that have
 * nothing to do, so that the next test file takes one whose code is loaded and warm: a start takes a third of the time.
 * A process that was killed, or in which anything failed, is not taken again.
 */
export class ServiceHost {
  private static readonly idle: ServiceHost[] = [];

  /** Why services are not ready. */
  notReady: readonly string[] = [];
  private starts = 0;
  private isOwn = false;

  private constructor(readonly child: ChildProcess) {
    child.on('message', (message: FromServices) => {
      if (message.kind === 'not ready') this.notReady = message.reasons;
    });
  }

  /** Resolves when all services are ready. @throws when one cannot start, or they are not within the time */
  static async start(
    order: Omit<Extract<ToServices, { kind: 'start' }>, 'kind'>,
    deadlineMs: number,
  ): Promise<ServiceHost> {
    const isOwn = Object.keys(order.env).some((name) => READ_AT_START.test(name));
    const host = (isOwn ? undefined : ServiceHost.takeIdle()) ?? ServiceHost.spawn(isOwn ? order.env : {});
    host.isOwn = isOwn;
    host.starts++;
    host.child.ref();
    host.child.channel?.ref();
    try {
      await host.ask({ kind: 'start', ...order }, 'ready', deadlineMs);
    } catch (error) {
      host.child.kill('SIGKILL');
      throw error;
    }
    return host;
  }

  /** Stops the services in order; the process waits for the next ones. */
  async stop(): Promise<void> {
    if (this.hasEnded) return;
    await this.ask({ kind: 'stop' }, 'stopped').catch((error: unknown) => {
      if (!this.hasEnded) throw error;
    });
    if (this.hasEnded) return;
    if (this.isOwn || this.starts >= MOST_STARTS) {
      const exited = once(this.child, 'exit');
      this.child.kill('SIGKILL');
      await exited;
      return;
    }
    this.notReady = [];
    // Nobody waits for it at the end: it goes when this process does.
    this.child.unref();
    this.child.channel?.unref();
    ServiceHost.idle.push(this);
  }

  private get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  private static takeIdle(): ServiceHost | undefined {
    for (let host = this.idle.pop(); host; host = this.idle.pop()) if (!host.hasEnded) return host;
    return undefined;
  }

  private static spawn(env: NodeJS.ProcessEnv): ServiceHost {
    const { PATH, HOME } = process.env;
    return new ServiceHost(
      fork(MAIN, {
        execArgv: ['--enable-source-maps'],
        env: { PATH, HOME, ...env },
        stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      }),
    );
  }

  private async ask(message: ToServices, answer: FromServices['kind'], deadlineMs?: number): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const settle = (error?: Error): void => {
        clearTimeout(timer);
        this.child.off('message', onMessage).off('exit', onExit);
        if (error) reject(error);
        else resolve();
      };
      const onMessage = ({ kind }: FromServices): void => {
        if (kind === answer) settle();
      };
      const onExit = (code: number | null, signal: string | null): void =>
        settle(new Error(`the services ended with ${code ?? signal}`));
      const timer =
        deadlineMs === undefined
          ? undefined
          : setTimeout(() => settle(new Error(`not in ${deadlineMs} ms: ${answer}`)), deadlineMs);
      this.child.on('message', onMessage).on('exit', onExit);
      if (this.hasEnded) onExit(this.child.exitCode, this.child.signalCode);
      else this.child.send(message);
    });
  }
}
