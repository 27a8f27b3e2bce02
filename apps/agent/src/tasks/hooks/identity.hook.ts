import { errorText, identitiesOf, isDefaultIdentity, type WorkloadIdentity } from '@waybill/model';
import type { UserIds } from '../../drivers/user-ids.js';
import type { AllocationIdentities } from '../../identities/allocation-identities.js';
import type { MachineIdentities } from '../../identities/machine-identities.js';
import { writeToken } from '../../identities/token-file.store.js';
import { nameOf, tokenPath, tokenVariable } from '../../identities/wanted-identities.js';
import { Gate } from '../../waiting/gate.js';
import { HookError, type TaskAdditions, type TaskHook, type TaskStart } from '../task-hook.js';
import { ifRunning } from '../task-not-running.js';

/** The longest wait of a start for a token that should be there already, in milliseconds (AU-158). */
export const TOKEN_WAIT_MS = 60_000;

export interface IdentityHookDependencies {
  readonly identities: Pick<MachineIdentities, 'of'>;
  /** Returns the ids of the task's user; undefined if this machine does not know them. */
  readonly userOf: (driver: string, user: string) => UserIds | undefined;
}

/**
 * IdentityHook gives a task the tokens of its identities, in its environment and in files, and acts when they are
 * renewed (AU-156 to AU-161).
 */
export class IdentityHook implements TaskHook {
  readonly name = 'identity';

  constructor(private readonly deps: IdentityHookDependencies) {}

  async prestart(start: TaskStart): Promise<TaskAdditions | void> {
    const tokens = this.deps.identities.of(start.alloc.ID);
    const identities = tokens ? deliveredOf(start, tokens) : [];
    if (!tokens || identities.length === 0) return;
    const env: Record<string, string> = {};
    // The watch begins first. A renewal during the first write is then written after it.
    const delivery = this.deliverTokens(start, tokens, 'start');
    for (const identity of identities) {
      const token = await tokenFor(identity, tokens, start);
      if (identity.Env) env[tokenVariable(identity)] = token;
    }
    await delivery.write(identities);
    return { env };
  }

  /** Watches the tokens of a task that continued without the agent. The task hears of renewals in the meantime. */
  async restore(start: TaskStart): Promise<void> {
    const tokens = this.deps.identities.of(start.alloc.ID);
    if (tokens && deliveredOf(start, tokens).length > 0) this.deliverTokens(start, tokens, 'restored');
  }

  private deliverTokens(start: TaskStart, tokens: AllocationIdentities, as: 'start' | 'restored'): TokenDelivery {
    const owner = this.deps.userOf(start.task.Driver, start.task.User);
    const delivery = new TokenDelivery(start, tokens, owner);
    tokens.watch(start.task.Name, (names) => delivery.renewed(names), as, AbortSignal.any([start.over, start.signal]));
    return delivery;
  }
}

/**
 * TokenDelivery delivers the tokens of one start of a task. It writes renewals one after the other, and then informs
 * the task (AU-159). Cost of a renewal: one file per renewed identity.
 */
class TokenDelivery {
  private last: Promise<void> = Promise.resolve();

  constructor(
    private readonly start: TaskStart,
    private readonly tokens: AllocationIdentities,
    private readonly owner: UserIds | undefined,
  ) {}

  /** Writes the files of identities that have one. @throws EscapesError, TakenError, and the file system's errors */
  write(identities: readonly WorkloadIdentity[]): Promise<void> {
    const done = this.last.then(() => this.writeNow(identities));
    this.last = done.catch(() => {});
    return done;
  }

  renewed(names: readonly string[]): void {
    const identities = deliveredOf(this.start, this.tokens).filter((identity) => names.includes(nameOf(identity)));
    const told = this.write(identities).then(() => this.runActions(identityActions(identities)));
    told.catch((error: unknown) => {
      const reason = `Identity: failed to renew: ${errorText(error)}`;
      void this.start.control.kill({ kill_reason: reason, fails_task: 'true' });
    });
  }

  private async writeNow(identities: readonly WorkloadIdentity[]): Promise<void> {
    const { task, config } = this.start;
    for (const identity of identities) {
      const token = this.tokens.token(task.Name, nameOf(identity));
      if (identity.File && token !== undefined)
        await writeToken(config.paths.taskDir, tokenPath(identity), token, this.owner);
    }
  }

  private async runActions(actions: readonly IdentityAction[]): Promise<void> {
    const { control, over } = this.start;
    for (const action of actions) {
      if (over.aborted) return; // the next start gets the new tokens
      try {
        await ifRunning(applyAction(action, control));
      } catch (error) {
        const what = action.kind === 'signal' ? 'send signal' : 'restart';
        const reason = `Identity[${action.identity}]: failed to ${what}: ${errorText(error)}`;
        void control.kill({ kill_reason: reason, fails_task: 'true' });
      }
    }
  }
}

function applyAction(action: IdentityAction, control: TaskStart['control']): Promise<void> {
  if (action.kind === 'restart') return control.restart(`Identity[${action.identity}]: new token acquired`);
  return control.signal(action.signal, {
    task_signal: action.signal,
    task_signal_reason: `Identity[${action.identity}]: new Identity token acquired`,
  });
}

/**
 * Returns the identities whose tokens a task waits for: all of its own but the default one, the default one if the task
 * sees it, and those of services whose tokens the task receives.
 */
const deliveredOf = (
  { task }: Pick<TaskStart, 'task'>,
  tokens: Pick<AllocationIdentities, 'ofServices'>,
): readonly WorkloadIdentity[] => [
  ...identitiesOf(task).filter((identity) => !isDefaultIdentity(identity) || identity.Env || identity.File),
  ...tokens.ofServices(task.Name),
];

/** Waits for a token. @throws HookError recoverable if the token does not arrive in time (AU-158) */
async function tokenFor(identity: WorkloadIdentity, tokens: AllocationIdentities, start: TaskStart): Promise<string> {
  const name = nameOf(identity);
  const present = tokens.token(start.task.Name, name);
  if (present !== undefined) return present;
  const killed = new Gate();
  start.signal.addEventListener('abort', () => killed.open(), { once: true });
  await tokens.untilComplete(TOKEN_WAIT_MS, killed);
  const token = tokens.token(start.task.Name, name);
  if (token !== undefined) return token;
  const message = `timed out waiting for identity "${name}"`;
  throw new HookError(message, true, { type: 'Task hook failed', details: { message: `identity: ${message}` } });
}

/** IdentityAction is an action on a task after a renewal, with the identity that its message names. */
type IdentityAction =
  | { readonly kind: 'restart'; readonly identity: string }
  | { readonly kind: 'signal'; readonly identity: string; readonly signal: string };

/**
 * Returns the actions after a renewal: one restart and nothing else, or each of the wanted signals once (AU-159,
 * AU-160).
 */
function identityActions(renewed: readonly WorkloadIdentity[]): IdentityAction[] {
  const restart = renewed.find(({ ChangeMode }) => ChangeMode === 'restart');
  if (restart) return [{ kind: 'restart', identity: nameOf(restart) }];
  const signals = renewed.filter(({ ChangeMode }) => ChangeMode === 'signal');
  return signals
    .filter(({ ChangeSignal }, at) => signals.findIndex((other) => other.ChangeSignal === ChangeSignal) === at)
    .map((identity) => ({ kind: 'signal', identity: nameOf(identity), signal: identity.ChangeSignal }));
}
