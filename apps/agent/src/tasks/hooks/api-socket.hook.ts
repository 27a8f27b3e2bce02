import type { UserIds } from '../../drivers/user-ids.js';
import { API_SOCKET, ApiSocket, type ApiSocketDependencies } from '../api-socket/api-socket.transport.js';
import type { HookedTask, TaskAdditions, TaskHook, TaskStart } from '../task-hook.js';

export interface ApiSocketHookDependencies extends ApiSocketDependencies {
  /** Returns the ids of the task's user; undefined if this machine does not know them. */
  readonly userOf: (driver: string, user: string) => UserIds | undefined;
}

/**
 * ApiSocketHook gives each task a socket to the HTTP API of the servers, in its secrets directory (AU-211). The socket
 * exists from before the first start, over restarts, until the task is dead. A task whose socket cannot be made starts
 * without it.
 */
export class ApiSocketHook implements TaskHook {
  readonly name = 'api_socket';
  /**
   * The sockets of tasks that are not dead, by allocation and task. A promise resolves to undefined if the socket could
   * not be made.
   */
  private readonly sockets = new Map<string, Promise<ApiSocket | undefined>>();

  constructor(private readonly deps: ApiSocketHookDependencies) {}

  async prestart(start: TaskStart): Promise<TaskAdditions | void> {
    const key = keyOf(start);
    if (!this.sockets.has(key)) this.sockets.set(key, this.open(start));
    if (!(await this.sockets.get(key))) return;
    return { env: { NOMAD_UNIX_ADDR: start.interpolateInTask(`unix://\${NOMAD_SECRETS_DIR}/${API_SOCKET}`) } };
  }

  /** Makes the socket again, because nothing listens at the socket of the earlier agent. */
  async restore(start: TaskStart): Promise<void> {
    const socket = this.open(start);
    this.sockets.set(keyOf(start), socket);
    await socket;
  }

  async stop(task: HookedTask): Promise<void> {
    const key = keyOf(task);
    const socket = this.sockets.get(key);
    this.sockets.delete(key);
    await (await socket)?.close();
  }

  private async open({ alloc, task, config }: TaskStart): Promise<ApiSocket | undefined> {
    const { taskDir, secretsDir } = config.paths;
    try {
      return await ApiSocket.open(taskDir, secretsDir, this.deps.userOf(task.Driver, task.User), this.deps);
    } catch (error) {
      this.deps.logger.warn('a task starts without a socket to the API', { alloc: alloc.ID, task: task.Name, error });
      return undefined;
    }
  }
}

const keyOf = ({ alloc, task }: HookedTask): string => `${alloc.ID}/${task.Name}`;
