import type { Readable } from 'node:stream';
import { pause, type Timers } from '@waybill/model';
import {
  MAX_TASK_ANSWER_PIECE_BYTES,
  type Rpc,
  type TaskApiAnswer,
  type TaskApiRequest,
  taskAnswerPiece,
} from '@waybill/rpc';
import type { Logger } from '@waybill/telemetry';
import { credentialOf } from '../access/routes.guard.js';
import { serverFailure } from '../http/api-error.js';

/**
 * The time in milliseconds after which the first piece of an answer is sent, with the bytes that are there. The rest
 * follows.
 */
export const FIRST_PIECE_MS = 20;

/** InProcessHttp is an HTTP server that can be called without a connection. A Fastify instance is one. */
export interface InProcessHttp {
  inject(request: InProcessRequest): Promise<InProcessAnswer>;
}

export interface InProcessRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly payload: Buffer;
  readonly remoteAddress: string;
  readonly payloadAsStream: true;
}

type MessageHeaders = Readonly<Record<string, string | number | readonly string[] | undefined>>;

export interface InProcessAnswer {
  readonly statusCode: number;
  readonly headers: MessageHeaders;
  stream(): Readable;
}

export interface TaskRequestsDependencies {
  /** Says whether a credential is valid in a request of a task (AU-213). */
  readonly accepts: (credential: string) => Promise<boolean>;
  readonly rpc: Rpc;
  readonly timers: Timers;
  readonly logger: Logger;
}

/**
 * The headers that describe a connection and not a message (RFC 9110, 7.6.1), and the length, which each side computes.
 */
const OF_THE_CONNECTION = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'content-length',
]);
/** The address for requests of tasks. Their machines forward them, so no client address is known. */
const NO_ADDRESS = '0.0.0.0';

/**
 * TaskRequests answers the requests that tasks send to the socket in their secrets directory (AU-211 to AU-215). It
 * gives each to the HTTP server of this process as if it had arrived at its port, with the credential that the task has
 * sent.
 *
 * An answer that is not complete after FIRST_PIECE_MS, such as an event stream, is sent to the machine piece by piece.
 * The next piece waits until the task has read the one before. If the task disconnects, the answer ends at the next
 * piece.
 * Limits: MAX_TASK_REQUESTS at once, by the call; one piece of an answer in memory.
 */
export class TaskRequests {
  private http: InProcessHttp | undefined;
  private readonly open = new Set<Readable>();

  constructor(private readonly deps: TaskRequestsDependencies) {}

  /** Begins to answer requests. Until then they are refused. */
  serve(http: InProcessHttp): void {
    this.http = http;
  }

  /** Ends the answers in progress. */
  stop(): void {
    this.http = undefined;
    for (const body of this.open) body.destroy();
  }

  async answer({ NodeID, RequestID, Method, Path, Headers, Body }: TaskApiRequest): Promise<TaskApiAnswer> {
    if (!this.http) throw serverFailure('the API is starting or stopping');
    const credential = credentialOf({ headers: Headers }) ?? '';
    if (credential === '') return shortAnswer(401, 'Unauthorized');
    if (!(await this.deps.accepts(credential))) return shortAnswer(403, 'Forbidden');
    const { statusCode, headers, stream } = await this.injectRequest(this.http, { Method, Path, Headers, Body });
    const body = new Pieces(stream, this.deps.timers);
    const first = await body.nextPiece(FIRST_PIECE_MS);
    if (!first.ended) void this.sendRest(NodeID, RequestID, body);
    return {
      Status: statusCode,
      Headers: withoutConnectionHeaders(headers),
      Body: first.data.toString('base64'),
      More: !first.ended,
    };
  }

  private async injectRequest(
    http: InProcessHttp,
    request: Pick<TaskApiRequest, 'Method' | 'Path' | 'Headers' | 'Body'>,
  ) {
    const answer = await http.inject({
      method: request.Method,
      url: request.Path,
      // A name that the server knows itself by: the task was told none.
      headers: { ...(withoutConnectionHeaders(request.Headers) as Record<string, string>), host: 'localhost' },
      payload: Buffer.from(request.Body, 'base64'),
      remoteAddress: NO_ADDRESS,
      payloadAsStream: true,
    });
    const stream = answer.stream();
    this.open.add(stream);
    stream.once('close', () => this.open.delete(stream));
    return { statusCode: answer.statusCode, headers: answer.headers, stream };
  }

  private async sendRest(target: string, RequestID: string, body: Pieces): Promise<void> {
    try {
      for (let ended = false; !ended;) {
        const piece = await body.nextPiece();
        ({ ended } = piece);
        const Body = piece.data.toString('base64');
        await this.deps.rpc.ask(taskAnswerPiece, { RequestID, Body, Ended: ended }, { target });
      }
    } catch (error) {
      // The task has disconnected, or its machine is away, so nobody reads the rest.
      this.deps.logger.debug('an answer to a task was broken off', { request: RequestID, error });
    } finally {
      body.end();
    }
  }
}

/** Pieces is a body in pieces of at most MAX_TASK_ANSWER_PIECE_BYTES. */
class Pieces {
  private readonly chunks: AsyncIterator<Buffer>;
  private coming: Promise<IteratorResult<Buffer>> | undefined;
  private rest: Buffer = Buffer.alloc(0);

  constructor(
    private readonly stream: Readable,
    private readonly timers: Timers,
  ) {
    this.chunks = (stream as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  }

  end(): void {
    this.stream.destroy();
  }

  /**
   * Returns the next piece.
   * @param forMs the time for which chunks are joined; if it is undefined, the first chunk is returned at once
   */
  async nextPiece(forMs?: number): Promise<{ readonly data: Buffer; readonly ended: boolean }> {
    const isOver = forMs === undefined ? undefined : pause(this.timers, forMs).then(() => 'over' as const);
    let data = this.rest;
    this.rest = Buffer.alloc(0);
    while (data.length < MAX_TASK_ANSWER_PIECE_BYTES) {
      this.coming ??= this.chunks.next();
      const step = await (isOver ? Promise.race([this.coming, isOver]) : this.coming);
      if (step === 'over') break;
      this.coming = undefined;
      if (step.done) return { data, ended: true };
      data = Buffer.concat([data, step.value]);
      if (!isOver) break;
    }
    this.rest = data.subarray(MAX_TASK_ANSWER_PIECE_BYTES);
    return { data: data.subarray(0, MAX_TASK_ANSWER_PIECE_BYTES), ended: false };
  }
}

const withoutConnectionHeaders = (headers: MessageHeaders): TaskApiAnswer['Headers'] =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => {
      if (OF_THE_CONNECTION.has(name.toLowerCase()) || value === undefined) return [];
      return [[name, typeof value === 'number' ? String(value) : value]];
    }),
  );

const shortAnswer = (Status: number, text: string): TaskApiAnswer => ({
  Status,
  Headers: { 'content-type': 'text/plain; charset=utf-8' },
  Body: Buffer.from(`${text}\n`).toString('base64'),
  More: false,
});
