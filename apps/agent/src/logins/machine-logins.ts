import type { Clock, Timers } from '@waybill/model';
import type { Logger } from '@waybill/telemetry';
import type { MachineIdentities } from '../identities/machine-identities.js';
import type { HookedTask, TaskStart } from '../tasks/task-hook.js';
import type { LoginService } from './login-service.js';
import { keepLogin, keptLogin } from './kept-login.store.js';
import type { CallServer } from './server-call.js';
import { TaskLogin } from './task-login.js';
import { type LoginProduct, type WantedLogin, wantedLogin } from './wanted-login.js';

/** LoginServer is one cluster of Vault or Consul, as the settings of this machine describe it. */
export interface LoginServer {
  readonly address: string;
  /** The namespace for tasks without one of their own; empty: none. */
  readonly namespace: string;
  readonly call: CallServer;
  /** Returns the service of one task's token. @param requestedBy the task, as the service's own records name it */
  readonly service: (wanted: WantedLogin, requestedBy: string) => LoginService;
}

export interface MachineLoginsDependencies {
  readonly servers: Readonly<Record<LoginProduct, ReadonlyMap<string, LoginServer>>>;
  readonly identities: Pick<MachineIdentities, 'of'>;
  readonly clock: Clock;
  readonly timers: Timers;
  /** Returns a number in [0, 1). */
  readonly random: () => number;
  readonly logger: Logger;
}

/** OpenLogin is the token of one task, with its server. */
export interface OpenLogin {
  readonly wanted: WantedLogin;
  readonly server: LoginServer;
  readonly login: TaskLogin;
}

/** NoLoginServerError says that a task needs a cluster that this machine does not know. */
export class NoLoginServerError extends Error {
  override readonly name = 'NoLoginServerError';
  constructor(product: LoginProduct, cluster: string) {
    super(`this machine does not know the cluster "${cluster}": set WAYBILL_AGENT_${product.toUpperCase()}`);
  }
}

/**
 * MachineLogins holds the tokens of Vault and Consul of all tasks of this machine. The hooks open and close them, and
 * templates read with them. A token lives from the first start of its task until the task is dead.
 */
export class MachineLogins {
  private readonly logins = new Map<string, OpenLogin>();

  constructor(private readonly deps: MachineLoginsDependencies) {}

  /**
   * Returns the token of a task, which an earlier agent may have kept. The result is undefined if the task wants none,
   * as most do.
   * @throws NoLoginServerError
   */
  async open(product: LoginProduct, start: TaskStart): Promise<OpenLogin | undefined> {
    const { alloc, task } = start;
    const wanted = wantedLogin(product, start);
    if (!wanted) return undefined;
    const key = keyOf(product, alloc.ID, task.Name);
    const present = this.logins.get(key);
    if (present) return present;
    const server = this.deps.servers[product].get(wanted.cluster);
    if (!server) throw new NoLoginServerError(product, wanted.cluster);
    const { paths } = start.config;
    const { clock, timers, random, logger, identities } = this.deps;
    const login = new TaskLogin({
      service: server.service(wanted, `waybill task ${task.Name} of ${alloc.ID}`),
      jwt: () => identities.of(alloc.ID)?.token(task.Name, wanted.identity),
      identity: wanted.identity,
      keepsAlive: wanted.keepsAlive,
      clock,
      timers,
      random,
      logger,
      fields: { alloc: alloc.ID, task: task.Name, cluster: wanted.cluster },
      emit: (message) => start.emit('Task hook message', { message: `${product}: ${message}` }),
      save: (held) => keepLogin(paths, product, held),
    });
    const opened = { wanted, server, login };
    this.logins.set(key, opened);
    const kept = await keptLogin(paths, product);
    if (kept) login.restore(kept);
    return opened;
  }

  /** Returns the token that a hook has opened. */
  of(product: LoginProduct, allocId: string, task: string): OpenLogin | undefined {
    return this.logins.get(keyOf(product, allocId, task));
  }

  /** Ends the token of a dead task. Never rejects. */
  async close(product: LoginProduct, { alloc, task }: Pick<HookedTask, 'alloc' | 'task'>): Promise<void> {
    const key = keyOf(product, alloc.ID, task.Name);
    const opened = this.logins.get(key);
    this.logins.delete(key);
    await opened?.login.close(true);
  }

  /** Ends all renewals, because the agent ends. The tokens stay valid for the tasks, which go on. */
  stop(): void {
    for (const { login } of this.logins.values()) void login.close(false);
    this.logins.clear();
  }
}

/** Returns the key of a login. It is unique, because no name contains NUL. */
const keyOf = (product: LoginProduct, allocId: string, task: string): string => [product, allocId, task].join('\0');
