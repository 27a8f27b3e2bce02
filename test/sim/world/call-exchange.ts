import { Refusal } from '@waybill/model';
import {
  type AskOptions,
  type Call,
  createOnNode,
  type Rpc,
  RpcContext,
  RpcError,
  RpcUnavailableError,
  subjectBetweenRegions,
  subjectOfCall,
  submitPlan,
} from '@waybill/rpc';
import type { SeededRandom } from '../kernel/seeded-random.js';
import type { SimulatedProcess } from '../kernel/simulated-process.js';
import { frozen } from './frozen.js';
import { received } from './received.js';
import type { Road, Wire } from './wire.js';

/** Answers one call; what goes in and out is what JSON can say (received.ts). */
export type AnswerCall = (request: unknown, context: RpcContext) => Promise<unknown>;

interface Subscription {
  readonly process: SimulatedProcess;
  /** Of those with the same one, one answers. */
  readonly queue: string | undefined;
  readonly answer: AnswerCall;
}

/** Who asks, and how it reaches this NATS. */
interface Asker {
  readonly process: SimulatedProcess;
  readonly road: Road;
}

/** Trace context and authority. */
type Headers = readonly [string | undefined, string | undefined];

/** A request on its way. */
interface Sent {
  readonly name: string;
  readonly body: unknown;
  readonly headers: Headers;
}

type Reply = { readonly ok: unknown } | { readonly error: RpcError };

/**
 * Core NATS repeats no request, and these are not made for it (docs/simulation.md). A repeated plan would be committed twice:
 * the applier does not look at the token again (EB-327), and workers repeat one only when it was certainly not carried out.
 * A host volume that its machine refused is taken out of the log; a second copy that is not refused would make it.
 */
const NEVER_REPEATED: ReadonlySet<string> = new Set([submitPlan.name, createOnNode.name]);

/** Core NATS as far as calls go: who answers which subject. */
export class CallExchange {
  /** Told of whatever was thrown instead of answered, and is no refusal. */
  onThrown: (callName: string, error: unknown) => void = () => {};
  private readonly subjects = new Map<string, Set<Subscription>>();

  constructor(
    private readonly wire: Wire,
    private readonly random: SeededRandom,
  ) {}

  /** @returns the way to stop answering */
  subscribe(subject: string, subscription: Subscription): () => void {
    const found = this.subjects.get(subject) ?? new Set();
    this.subjects.set(subject, found);
    found.add(subscription);
    return () => found.delete(subscription);
  }

  /** @param road of a process of another region: how it comes here */
  rpcOf(process: SimulatedProcess, road: Road = this.wire): Rpc {
    return { ask: (call, request, options) => this.ask({ process, road }, call, request, options ?? {}) };
  }

  private ask<Req, Res>(asker: Asker, call: Call<Req, Res>, request: Req, options: AskOptions): Promise<Res> {
    const body = frozen(received<unknown>(request));
    const authority = options.authority && JSON.stringify(options.authority);
    const headers: Headers = [options.traceparent, authority];
    const { process, road } = asker;
    const { region, target } = options;
    const subject = region === undefined ? subjectOfCall(call.name, target) : subjectBetweenRegions(region, call.name);
    return new Promise((resolve, reject) => {
      let over = false;
      const settle = (take: () => void): void => {
        if (over) return;
        over = true;
        cancelTimeout();
        take();
      };
      const unavailable = (reason: string): void => settle(() => reject(new RpcUnavailableError(call.name, reason)));
      const cancelTimeout = process.after(options.timeoutMs ?? call.timeoutMs, () => unavailable('timeout'));
      const settled = (reply: Reply): void =>
        settle(() => ('error' in reply ? reject(reply.error) : resolve(reply.ok as Res)));
      const copies = !NEVER_REPEATED.has(call.name) && this.wire.happens('repeat') ? 2 : 1;
      for (let copy = 0; copy < copies; copy++)
        this.send(asker, call.name, () => {
          const receivers = this.receiversOf(subject);
          if (receivers.length === 0) road.toProcess(process, 'no responder', () => unavailable('no responder'));
          for (const receiver of receivers) this.hand(receiver, asker, { name: call.name, body, headers }, settled);
        });
    });
  }

  private send({ process, road }: Asker, label: string, run: () => void): void {
    if (!this.wire.happens('loss')) road.toNats(process, label, run);
  }

  /** Of each queue one, and everybody who has none: a holder shares none with a predecessor that is not aware yet. */
  private receiversOf(subject: string): Subscription[] {
    const alive = [...(this.subjects.get(subject) ?? [])].filter(({ process }) => process.isAlive);
    const queued = alive.filter(({ queue }) => queue !== undefined);
    const alone = alive.filter(({ queue }) => queue === undefined);
    return queued.length > 0 ? [...alone, this.random.pick(queued)] : alone;
  }

  private hand(
    receiver: Subscription,
    asker: Asker,
    { name, body, headers: [traceparent, authority] }: Sent,
    settled: (reply: Reply) => void,
  ): void {
    const { process, answer } = receiver;
    this.wire.toProcess(process, name, () => {
      const context = new RpcContext([traceparent, undefined, authority]);
      void replyOf(answer, body, context, (error) => this.onThrown(name, error)).then((reply) =>
        this.send({ process, road: this.wire }, `${name} answer`, () => {
          if (asker.process.isAlive) asker.road.toProcess(asker.process, `${name} answer`, () => settled(reply));
          else this.wire.toProcess(process, `${name} unheard`, () => context.onUndelivered?.());
        }),
      );
    });
  }
}

async function replyOf(
  answer: AnswerCall,
  body: unknown,
  context: RpcContext,
  thrown: (error: unknown) => void,
): Promise<Reply> {
  try {
    return { ok: received(await answer(body, context)) };
  } catch (error) {
    if (error instanceof Refusal) return { error: new RpcError(error.code, error.message) };
    thrown(error);
    return { error: new RpcError('internal', error instanceof Error ? error.message : String(error)) };
  }
}
