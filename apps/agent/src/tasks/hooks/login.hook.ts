import { errorText, findTaskGroup } from '@waybill/model';
import type { UserIds } from '../../drivers/user-ids.js';
import { writeToken } from '../../identities/token-file.store.js';
import type { MachineLogins, OpenLogin } from '../../logins/machine-logins.js';
import { ServerRefusedError } from '../../logins/server-call.js';
import { type LoginProduct, loginEnv } from '../../logins/wanted-login.js';
import { HookError, type HookedTask, type TaskAdditions, type TaskHook, type TaskStart } from '../task-hook.js';
import { ifRunning } from '../task-not-running.js';

export interface LoginHookDependencies {
  readonly logins: MachineLogins;
  /** Returns the ids of the task's user; undefined if this machine does not know them. */
  readonly userOf: (driver: string, user: string) => UserIds | undefined;
}

const NAMES = { vault: 'Vault', consul: 'Consul' } as const;

/**
 * LoginHook logs a task in to Vault or Consul, gives it the token in its environment and a file, and acts when the
 * token changes (AU-164 to AU-168). There is one for each product.
 */
export class LoginHook implements TaskHook {
  constructor(
    readonly name: LoginProduct,
    private readonly deps: LoginHookDependencies,
  ) {}

  async prestart(start: TaskStart): Promise<TaskAdditions | void> {
    if (this.name === 'consul') refuseServices(start);
    const opened = await this.deps.logins.open(this.name, start);
    if (!opened) return;
    const token = await this.firstToken(opened, start);
    const delivery = this.deliver(opened, start);
    await delivery.write();
    const { wanted, server } = opened;
    if (!wanted.env) return;
    const namespace = wanted.namespace || server.namespace;
    return { env: loginEnv(this.name, token, { address: server.address, namespace }, start) };
  }

  /**
   * Takes up the token of a task that continued without the agent. If it ended meanwhile, or the disk lost it, the task
   * gets a new one.
   */
  async restore(start: TaskStart): Promise<void> {
    const opened = await this.deps.logins.open(this.name, start);
    if (!opened) return;
    const delivery = this.deliver(opened, start);
    if (opened.login.token !== undefined) return;
    await opened.login.ready(start.signal);
    delivery.changed();
  }

  async stop(task: HookedTask): Promise<void> {
    await this.deps.logins.close(this.name, task);
  }

  /** @throws HookError recoverable if the server refuses the login, because the restart policy may try again */
  private async firstToken({ login }: OpenLogin, start: TaskStart): Promise<string> {
    try {
      return await login.ready(start.signal);
    } catch (error) {
      if (start.signal.aborted || !(error instanceof ServerRefusedError)) throw error;
      const message = `${this.name}: login failed: ${errorText(error)}`;
      throw new HookError(message, true, { type: 'Task hook failed', details: { message } }, { cause: error });
    }
  }

  private deliver(opened: OpenLogin, start: TaskStart): LoginDelivery {
    const delivery = new LoginDelivery(this.name, opened, start, this.deps.userOf(start.task.Driver, start.task.User));
    opened.login.watch(() => delivery.changed(), AbortSignal.any([start.over, start.signal]));
    return delivery;
  }
}

/** Refuses services that nobody would register (API-351). Cost: O(services of the group). @throws HookError */
function refuseServices({ alloc, job, task }: TaskStart): void {
  const services = [...(findTaskGroup(job, alloc.TaskGroup)?.Services ?? []), ...(task.Services ?? [])];
  const refused = services.find(({ Provider }) => Provider === 'consul');
  if (!refused) return;
  const message = `consul: service "${refused.Name}" has the provider consul, but Waybill registers no services in Consul`;
  throw new HookError(message, false, { type: 'Task hook failed', details: { message } });
}

/** LoginDelivery writes the tokens of one start of a task, one after the other, and tells the task of new ones. */
class LoginDelivery {
  private last: Promise<void> = Promise.resolve();

  constructor(
    private readonly product: LoginProduct,
    private readonly opened: OpenLogin,
    private readonly start: TaskStart,
    private readonly owner: UserIds | undefined,
  ) {}

  /** Writes the present token. @throws EscapesError, TakenError, and the file system's errors */
  write(): Promise<void> {
    const done = this.last.then(() => this.writeNow());
    this.last = done.catch(() => {});
    return done;
  }

  changed(): void {
    const told = this.write().then(() => this.act());
    told.catch((error: unknown) => this.kill(`failed to give the task its new token: ${errorText(error)}`));
  }

  private async writeNow(): Promise<void> {
    const { login, wanted } = this.opened;
    if (!wanted.file || login.token === undefined) return;
    await writeToken(this.start.config.paths.taskDir, `secrets/${this.product}_token`, login.token, this.owner);
  }

  private async act(): Promise<void> {
    const { changeMode, changeSignal } = this.opened.wanted;
    const { control, over } = this.start;
    if (over.aborted) return; // the next start gets the new token
    const reason = `${NAMES[this.product]}: new ${NAMES[this.product]} token acquired`;
    if (changeMode === 'restart') await ifRunning(control.restart(reason));
    if (changeMode === 'signal')
      await ifRunning(control.signal(changeSignal, { task_signal: changeSignal, task_signal_reason: reason }));
  }

  private kill(reason: string): void {
    void this.start.control.kill({ kill_reason: `${NAMES[this.product]}: ${reason}`, fails_task: 'true' });
  }
}
