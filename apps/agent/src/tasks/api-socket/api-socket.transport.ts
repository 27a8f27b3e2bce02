import { once } from 'node:events';
import { chmod, chown, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { bytesWithin, isRefusal, TooManyBytesError } from '@waybill/model';
import { MAX_TASK_REQUEST_BYTES, type Rpc, type TaskApiAnswer, taskRequest } from '@waybill/rpc';
import type { Logger } from '@waybill/telemetry';
import type { UserIds } from '../../drivers/user-ids.js';
import { openInside } from '../../paths/inside-allocation.store.js';
import type { OpenDirectory } from '../../paths/open-directory.store.js';
import { pathName } from '../../paths/path-name.js';
import type { TaskAnswers } from './task-answers.js';

/** The largest number of concurrent connections of one task (AU-216). */
export const MAX_API_SOCKET_CONNECTIONS = 64;
/** Name of the socket in a task's secrets directory (AU-211). */
export const API_SOCKET = 'api.sock';

const OWNER_ONLY = 0o600;
/** The mode for a task whose user the agent does not know. The directory of secrets protects the socket then. */
const EVERYBODY = 0o666;

export interface ApiSocketDependencies {
  readonly rpc: Rpc;
  readonly newId: () => string;
  readonly nodeId: () => string;
  readonly answers: TaskAnswers;
  readonly logger: Logger;
}

/**
 * ApiSocket is the socket of one task, through which the task reaches the HTTP API of the servers (AU-211 to AU-216).
 * It forwards each request as one message. The answer comes back as one message, or in pieces if it is long or a
 * stream. The socket makes no decision: the API checks the credential in the request.
 *
 * States: closed → listening → closed. Limits: MAX_API_SOCKET_CONNECTIONS, MAX_TASK_REQUEST_BYTES. The directory stays
 * open as long as the socket, because binding and removing a socket need a path that leads to exactly that directory.
 */
export class ApiSocket {
  private constructor(
    private readonly server: Server,
    private readonly directory: OpenDirectory,
  ) {}

  /**
   * Opens the socket.
   * @param owner the task's user; undefined if the agent does not know it
   * @throws the file system's error
   */
  static async open(
    taskDir: string,
    secretsDir: string,
    owner: UserIds | undefined,
    deps: ApiSocketDependencies,
  ): Promise<ApiSocket> {
    const directory = await openInside(taskDir, secretsDir);
    try {
      const place = directory.pathOfEntry(pathName(API_SOCKET));
      await rm(place, { force: true }); // an agent that was killed leaves its socket behind
      const server = createServer((request, response) => void new Exchange(request, response, deps).forwardRequest());
      server.maxConnections = MAX_API_SOCKET_CONNECTIONS;
      server.unref(); // the agent can end while the socket is open
      server.listen(place);
      await once(server, 'listening');
      await allowTask(place, owner);
      return new ApiSocket(server, directory);
    } catch (error) {
      await directory.close();
      throw error;
    }
  }

  /** Closes the socket and its connections. */
  async close(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
    await this.directory.close();
  }
}

/** Lets the task connect to its socket. Before that, only the agent's user can. */
async function allowTask(place: string, owner: UserIds | undefined): Promise<void> {
  const given =
    owner &&
    chown(place, owner.uid, owner.gid).then(
      () => true,
      () => false, // an agent without root rights cannot change the owner
    );
  await chmod(place, (await given) ? OWNER_ONLY : EVERYBODY);
}

/** Exchange is one request and its answer. */
class Exchange {
  private readonly id: string;

  constructor(
    private readonly request: IncomingMessage,
    private readonly response: ServerResponse,
    private readonly deps: ApiSocketDependencies,
  ) {
    this.id = deps.newId();
  }

  async forwardRequest(): Promise<void> {
    const { answers, logger } = this.deps;
    const begun = this.askServers();
    // The reader is registered before anything is sent, because the body of the request is still to be read.
    const forget = answers.expectAnswer(this.id, async (data, ended) => {
      await begun;
      await this.write(data);
      if (ended) this.response.end();
    });
    this.response.once('close', forget);
    try {
      if (!(await begun).More) forget();
    } catch (error) {
      forget();
      if (!(error instanceof TooManyBytesError)) logger.debug('a request of a task got no answer', { error });
      this.refuseRequest(error);
    }
  }

  private async askServers(): Promise<TaskApiAnswer> {
    const { rpc, nodeId } = this.deps;
    const { method = 'GET', url = '/', headers } = this.request;
    const Headers: Record<string, string> = {};
    for (const [name, value] of Object.entries(headers)) if (value !== undefined) Headers[name] = String(value);
    const Body = (await bytesWithin(this.request, MAX_TASK_REQUEST_BYTES)).toString('base64');
    const own = { NodeID: nodeId(), RequestID: this.id };
    const answer = await rpc.ask(taskRequest, { ...own, Method: method, Path: url, Headers, Body });
    if (!this.response.destroyed) this.startAnswer(answer);
    return answer;
  }

  private startAnswer({ Status, Headers, Body, More }: TaskApiAnswer): void {
    for (const [name, value] of Object.entries(Headers))
      this.response.setHeader(name, typeof value === 'string' ? value : [...value]);
    this.response.writeHead(Status);
    const data = Buffer.from(Body, 'base64');
    if (!More) this.response.end(data);
    else if (data.length > 0) this.response.write(data);
    else this.response.flushHeaders();
  }

  /** Writes data. Resolves when the task has room for more. @throws Error if the task has closed the connection */
  private async write(data: Buffer): Promise<void> {
    if (this.response.destroyed) throw new Error('the task has hung up');
    if (data.length === 0 || this.response.write(data)) return;
    const hungUp = new AbortController();
    const end = (): void => hungUp.abort(new Error('the task has hung up'));
    this.response.once('close', end);
    await once(this.response, 'drain', { signal: hungUp.signal });
    this.response.off('close', end);
  }

  private refuseRequest(error: unknown): void {
    if (this.response.headersSent || this.response.destroyed) {
      this.response.destroy();
      return;
    }
    const isTooLong = error instanceof TooManyBytesError || isRefusal(error, 'too-large');
    const [status, text] = isTooLong
      ? [413, `request body too large: at most ${MAX_TASK_REQUEST_BYTES} bytes through this socket`]
      : [500, 'Server error authenticating request'];
    this.response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' });
    this.response.end(`${text}\n`);
  }
}
