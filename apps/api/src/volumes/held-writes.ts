import type { Call, IndexResponse, OnBehalfOf } from '@waybill/rpc';
import type { HeldCalls } from '../http/held-calls.js';
import { type ApiReply, type ApiRequest, setWriteIndex } from '../http/reply.js';
import { Requester } from '../http/requester.js';
import type { Writer } from '../writer.js';

/** Writes of volumes that the holder of the role makes for a user. */
export class HeldWrites {
  constructor(
    private readonly calls: HeldCalls,
    private readonly writer: Writer,
  ) {}

  /** Resolves once what was written can be read (VL-266). @throws RpcError, RpcUnavailableError, ApiError */
  async run<Req extends { readonly For: OnBehalfOf }, Res extends IndexResponse>(
    call: Call<Req, Res>,
    wanted: Omit<Req, 'For'>,
    request: ApiRequest,
    reply: ApiReply,
  ): Promise<Res> {
    const { onBehalf: For, traceparent } = Requester.of(request);
    // `Omit` of a type parameter is not put together again by the compiler.
    const answer = await this.calls.ask(call, { ...wanted, For } as Req, { traceparent });
    await this.writer.readable(answer.Index);
    setWriteIndex(reply, answer.Index);
    return answer;
  }
}
