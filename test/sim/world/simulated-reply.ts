import { EventEmitter } from 'node:events';
import { type ApiReply, MAX_BUFFERED_BYTES } from '@waybill/api';
import type { SimulatedProcess } from '../kernel/simulated-process.js';
import type { SeededRandom } from '../kernel/seeded-random.js';

/** A reader of a stream, as the server's connection sees it. */
export interface StreamReader {
  /** Called with every line, at the moment when the server hands it over. */
  take(line: string): void;
  /** The stream is over. */
  end(): void;
}

/** A slow reader takes what waits for it after this, milliseconds. Every line fills its connection. */
const SLOW_MS = [200, 20_000] as const;

/**
 * The connection of one reader of a stream: what the product needs of Node's `ServerResponse`. open → closed. What a slow
 * reader has not taken counts as buffered, as on a real connection.
 */
export class SimulatedConnection extends EventEmitter {
  closed = false;
  writableEnded = false;
  writableFinished = false;
  writableLength = 0;

  constructor(
    private readonly process: SimulatedProcess,
    private readonly reader: StreamReader,
    /** Of a slow reader; undefined: it takes everything at once. */
    private readonly slowness: SeededRandom | undefined,
  ) {
    super();
  }

  writeHead(): void {}
  addTrailers(): void {}

  write(bytes: string | Uint8Array): void {
    for (const line of Buffer.from(bytes).toString('utf8').split('\n')) if (line !== '') this.reader.take(line);
    if (!this.slowness) return;
    if (this.writableLength === 0) this.process.after(this.slowness.between(...SLOW_MS), () => this.drain());
    this.writableLength += MAX_BUFFERED_BYTES + bytes.length;
  }

  end(): void {
    if (this.writableEnded) return;
    this.writableEnded = this.writableFinished = this.closed = true;
    this.reader.end();
    this.emit('close');
  }

  /** What waits is dropped. */
  destroy(): void {
    this.end();
  }

  private drain(): void {
    this.writableLength = 0;
    this.emit('drain');
  }
}

/** The answer to one request, as a handler fills it. */
export class SimulatedReply {
  status = 200;
  body: unknown;
  readonly request = {};
  readonly headers = new Map<string, string | number>();

  constructor(readonly raw: SimulatedConnection) {}

  code(status: number): this {
    this.status = status;
    return this;
  }

  header(name: string, value: string | number): this {
    this.headers.set(name, value);
    return this;
  }

  send(body?: unknown): this {
    this.body = body;
    return this;
  }

  hijack(): this {
    return this;
  }

  /** For the product, which knows more of Fastify than it uses. */
  get asReply(): ApiReply {
    return this as unknown as ApiReply;
  }
}
