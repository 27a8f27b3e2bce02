import type { AskOptions, Call, OnBehalfOf } from '@waybill/rpc';
import { type ApiReply, type ApiRequest, setWriteIndex } from './reply.js';
import { Requester } from './requester.js';
import { callsFor } from '../access/call-user.js';

/** WrittenByService is the answer of another service to a write that it made for a user. */
interface WrittenByService {
  readonly Index: number;
  /** The index of the evaluations that the service wrote afterwards. It is absent or 0 if there are none. */
  readonly EvalCreateIndex?: number;
}

export interface HolderWritesDeps {
  /** The calls hold a request until the role has a holder (API-39). */
  readonly calls: { ask<Req, Res>(call: Call<Req, Res>, request: Req, options?: AskOptions): Promise<Res> };
  readonly readable: (index: number) => Promise<unknown>;
}

/**
 * HolderWrites sends users' writes to volumes, deployments and nodes to the holder of the role, which makes them. It
 * keeps no state.
 */
export class HolderWrites {
  constructor(private readonly deps: HolderWritesDeps) {}

  /**
   * Resolves when reads show the write, with `X-Nomad-Index` set to its index (API-31, VL-266, DP-1206, ND-18).
   * @throws Refusal, RpcUnavailableError
   */
  async callHolder<Req extends { readonly For: OnBehalfOf }, Res extends WrittenByService>(
    call: Call<Req, Res>,
    wanted: Omit<Req, 'For'>,
    request: ApiRequest,
    reply: ApiReply,
  ): Promise<Res> {
    const { onBehalf: For, traceparent } = Requester.of(request);
    const calls = callsFor(request, this.deps.calls);
    // The compiler cannot tell that `Omit<Req, 'For'>` with `For` is a `Req` while `Req` is a type parameter.
    const answer = await calls.ask(call, { ...wanted, For } as Req, { traceparent });
    const written = Math.max(answer.Index, answer.EvalCreateIndex ?? 0);
    if (written > 0) await this.deps.readable(written);
    setWriteIndex(reply, answer.Index);
    return answer;
  }
}
