import { BaseRpcContext, Server, type CustomTransportStrategy, type MessageHandler } from '@nestjs/microservices';
import { lastValueFrom } from 'rxjs';
import type { Txn } from '@waybill/state';
import type { Delivery, Follower, Log } from './log.js';
import { subjectOf } from './subject.js';

/** First and longest pause before a failed handler is called again for the same transaction, milliseconds. */
export const HANDLER_RETRY_MS = 50;
export const MAX_HANDLER_RETRY_MS = 5_000;

/** Second argument of a handler: `(@Payload() txn, @Ctx() context)`. */
export class JournalContext extends BaseRpcContext<[Txn, Delivery]> {
  get txn(): Txn {
    return this.args[0];
  }
  /** False while the log is being replayed: only live transactions cause effects (ST-11). */
  get live(): boolean {
    return this.args[1].live;
  }
  get subject(): string {
    return subjectOf(this.txn);
  }
}

export interface JournalServerOptions {
  readonly log: Log;
  /** First index to deliver. */
  readonly from: number | (() => number | Promise<number>);
  /** Called when reading has stopped for good; see `FollowOptions.onError`. */
  onError(error: Error): void;
  /** Called when a handler failed and will be called again. */
  onRetry?(error: unknown, txn: Txn, attempt: number): void;
}

/**
 * The log as a Nest transport: `@EventPattern<string>('JobRegister')` gets the transactions of that type,
 * `@EventPattern<string>('TXN.job.*.*')` those on matching subjects; the first registered handler that matches is
 * called. One handler runs at a time, in the order of the log. A handler that fails is called again for the same
 * transaction, with growing pauses, until it succeeds or the server is closed: no transaction is skipped.
 */
export class JournalServer extends Server implements CustomTransportStrategy {
  override readonly transportId = Symbol('journal');
  // The failure reaches `handle` through the stream, so Nest need not log it as well.
  override readonly propagatesEventHandlerErrors = true;
  private follower: Follower | undefined;
  private closed = false;
  private wake: (() => void) | undefined;

  constructor(private readonly options: JournalServerOptions) {
    super();
  }

  listen(callback: (error?: unknown) => void): void {
    void this.start(callback);
  }

  async close(): Promise<void> {
    this.closed = true;
    this.wake?.();
    await this.follower?.stop();
  }

  on(): never {
    throw new Error('the journal transport has no status events: see JournalServerOptions.onError');
  }

  unwrap<T>(): T {
    return this.options.log as T;
  }

  private async start(callback: (error?: unknown) => void): Promise<void> {
    const { log, from } = this.options;
    try {
      this.follower = await log.follow({
        from: typeof from === 'function' ? await from() : from,
        onTxns: (batch, delivery) => this.handleAll(batch, delivery),
        onError: (error) => this.options.onError(error),
      });
    } catch (e) {
      callback(e);
      return;
    }
    callback();
  }

  private async handleAll(batch: readonly Txn[], delivery: Delivery): Promise<void> {
    for (const txn of batch) {
      const handler = this.handlerOf(txn);
      if (handler) await this.handle(handler, txn, delivery);
    }
  }

  private handlerOf(txn: Txn): MessageHandler | undefined {
    const byType = this.messageHandlers.get(txn.type);
    if (byType) return byType;
    const subject = subjectOf(txn);
    for (const [pattern, handler] of this.messageHandlers) if (subjectMatches(pattern, subject)) return handler;
    return undefined;
  }

  private async handle(handler: MessageHandler, txn: Txn, delivery: Delivery): Promise<void> {
    for (let attempt = 1; !this.closed; attempt++) {
      try {
        const result: unknown = await handler(txn, new JournalContext([txn, delivery]));
        await lastValueFrom(this.transformToObservable(result), { defaultValue: undefined });
        return;
      } catch (e) {
        this.options.onRetry?.(e, txn, attempt);
        await this.pause(Math.min(MAX_HANDLER_RETRY_MS, HANDLER_RETRY_MS * 2 ** (attempt - 1)));
      }
    }
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** NATS' matching rule: `*` is one token, a final `>` one or more. */
export function subjectMatches(pattern: string, subject: string): boolean {
  const wanted = pattern.split('.');
  const tokens = subject.split('.');
  for (const [i, token] of wanted.entries()) {
    if (token === '>') return i === wanted.length - 1 && tokens.length > i;
    if (i >= tokens.length || (token !== '*' && token !== tokens[i])) return false;
  }
  return wanted.length === tokens.length;
}
