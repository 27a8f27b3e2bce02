import { randomUUID } from 'node:crypto';
import type { OnBehalfOf } from '@waybill/rpc';
import type { Actor, DraftContext } from '@waybill/state';
import type { ApiRequest } from './reply.js';
import { traceOf } from './trace-requests.js';

/** Longest reason kept (API-260). */
const MAX_REASON = 256;

/** Who asks, why, and in which trace: what goes into the header of the transaction a request causes. */
export class Requester {
  private constructor(
    readonly requestId: string,
    readonly reason: string,
    /** W3C, of the request. */
    readonly traceparent: string | undefined,
    private readonly actor: Actor = { Kind: 'anonymous', ID: '', Name: 'anonymous' },
  ) {}

  static of(request: ApiRequest): Requester {
    return new Requester(randomUUID(), reasonOf(request.headers['x-waybill-reason']), traceOf(request));
  }

  /** Of a request that another region has taken (DP-1112). */
  static inOtherRegion({ Actor, Reason, RequestID }: OnBehalfOf, traceparent: string | undefined): Requester {
    return new Requester(RequestID, Reason, traceparent, Actor);
  }

  /** For the service that writes it for us. */
  get onBehalf(): OnBehalfOf {
    const { actor, reason = '', requestId } = this.draftContext(0);
    return { Actor: actor, Reason: reason, RequestID: requestId };
  }

  /** @param timeNs unix ns */
  draftContext(timeNs: number): DraftContext {
    return {
      timeNs,
      requestId: this.requestId,
      actor: this.actor,
      reason: this.reason,
      traceparent: this.traceparent,
    };
  }
}

function reasonOf(header: string | string[] | undefined): string {
  const text = Array.isArray(header) ? (header[0] ?? '') : (header ?? '');
  // eslint-disable-next-line no-control-regex
  return text.replaceAll(/[\u0000-\u001f\u007f]/g, '').slice(0, MAX_REASON);
}
