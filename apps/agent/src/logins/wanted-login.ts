import { consulBlockOf, consulIdentityName, findTaskGroup, vaultIdentityName } from '@waybill/model';
import type { HookedTask, TaskStart } from '../tasks/task-hook.js';

export type LoginProduct = 'vault' | 'consul';

/** WantedLogin is the token that a task's `vault` or `consul` block asks for. */
export interface WantedLogin {
  readonly cluster: string;
  /** The name of the identity that proves the task. */
  readonly identity: string;
  readonly namespace: string;
  readonly partition: string;
  /** Empty: the one of the machine's settings. */
  readonly role: string;
  readonly env: boolean;
  readonly file: boolean;
  readonly changeMode: string;
  readonly changeSignal: string;
  readonly keepsAlive: boolean;
}

/** Returns the token that a task asks for; undefined for a task without a block of this product. */
export function wantedLogin(product: LoginProduct, { alloc, job, task }: Pick<HookedTask, 'alloc' | 'job' | 'task'>) {
  return product === 'vault' ? ofVault(task) : ofConsul({ alloc, job, task });
}

function ofVault({ Vault }: HookedTask['task']): WantedLogin | undefined {
  if (!Vault) return undefined;
  return {
    cluster: Vault.Cluster,
    identity: vaultIdentityName(Vault.Cluster),
    namespace: Vault.Namespace,
    partition: '',
    role: Vault.Role,
    env: Vault.Env,
    file: !Vault.DisableFile,
    changeMode: Vault.ChangeMode,
    changeSignal: Vault.ChangeSignal,
    keepsAlive: !Vault.AllowTokenExpiration,
  };
}

function ofConsul({ alloc, job, task }: Pick<HookedTask, 'alloc' | 'job' | 'task'>): WantedLogin | undefined {
  const group = findTaskGroup(job, alloc.TaskGroup);
  const block = group && consulBlockOf(group, task);
  if (!block) return undefined;
  return {
    cluster: block.Cluster,
    identity: consulIdentityName(block.Cluster),
    namespace: block.Namespace,
    partition: block.Partition,
    role: '',
    env: true,
    file: true,
    changeMode: 'noop',
    changeSignal: '',
    keepsAlive: true,
  };
}

/** Returns the variables that a token brings. What the task's own `env` says about an address stays (AU-166). */
export function loginEnv(
  product: LoginProduct,
  token: string,
  { address, namespace }: { readonly address: string; readonly namespace: string },
  { task }: Pick<TaskStart, 'task'>,
): Readonly<Record<string, string>> {
  const given = (name: string, value: string): Readonly<Record<string, string>> =>
    value === '' || Object.hasOwn(task.Env ?? {}, name) ? {} : { [name]: value };
  return product === 'vault'
    ? { VAULT_TOKEN: token, ...given('VAULT_ADDR', address), ...given('VAULT_NAMESPACE', namespace) }
    : {
        CONSUL_TOKEN: token,
        CONSUL_HTTP_TOKEN: token,
        ...given('CONSUL_HTTP_ADDR', address),
        ...given('CONSUL_NAMESPACE', namespace),
      };
}
