import { headers, NoRespondersError, RequestError, TimeoutError, type NatsConnection } from '@nats-io/transport-node';
import {
  type AskOptions,
  type Call,
  NO_RESPONDER,
  type Rpc,
  RpcError,
  type RpcErrorCode,
  RpcUnavailableError,
  subjectOfCall,
} from './call.js';

/** What travels back. */
export type Reply =
  | { readonly ok: unknown }
  | { readonly error: { readonly code: RpcErrorCode; readonly message: string } };

/** `Rpc` over NATS request/reply. Holds nothing but the connection; a lost connection fails the ask at its timeout. */
export class NatsRpc implements Rpc {
  constructor(private readonly nc: NatsConnection) {}

  async ask<Req, Res>(call: Call<Req, Res>, request: Req, options: AskOptions = {}): Promise<Res> {
    const h = headers();
    if (options.traceparent) h.set('traceparent', options.traceparent);
    const reply = await this.request(call, JSON.stringify(request ?? null), { ...options, headers: h });
    if ('error' in reply) throw new RpcError(reply.error.code, reply.error.message);
    return reply.ok as Res;
  }

  private async request(
    call: Call<unknown, unknown>,
    body: string,
    options: AskOptions & { headers: ReturnType<typeof headers> },
  ): Promise<Reply> {
    try {
      const msg = await this.nc.request(subjectOfCall(call.name, options.target), body, {
        timeout: options.timeoutMs ?? call.timeoutMs,
        headers: options.headers,
      });
      return msg.json<Reply>();
    } catch (error) {
      throw new RpcUnavailableError(call.name, reasonOf(error));
    }
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof NoRespondersError) return NO_RESPONDER;
  if (error instanceof RequestError && error.isNoResponders()) return NO_RESPONDER;
  if (error instanceof TimeoutError) return 'timeout';
  return error instanceof Error ? error.message : String(error);
}
