import { type Author, onBehalfOf } from '@waybill/writing';
import { randomUUID } from 'node:crypto';
import type { OnBehalfOf } from '@waybill/rpc';
import type { Actor } from '@waybill/state';
import type { ApiRequest } from './reply.js';
import { traceOf } from './trace-requests.js';

/** Longest reason kept (API-260). */
const MAX_REASON = 256;

/** Who asks, why, and in which trace: what goes into the header of the transaction that a request causes. */
export class Requester {
  private constructor(
    readonly requestId: string,
    readonly reason: string,
    /** W3C, of the request. */
    readonly traceparent: string | undefined,
    private readonly actor: Actor,
  ) {}

  static of(request: ApiRequest): Requester {
    const reason = reasonOf(request.headers['x-waybill-reason']);
    const requestId = randomUUID();
    request.notes?.writes(requestId);
    return new Requester(requestId, reason, traceOf(request), request.access.caller.actor);
  }

  /** Of a request that another region has taken (DP-1112). */
  static inOtherRegion({ Actor, Reason, RequestID }: OnBehalfOf, traceparent: string | undefined): Requester {
    return new Requester(RequestID, Reason, traceparent, Actor);
  }

  /** For the service that writes it for us. */
  get onBehalf(): OnBehalfOf {
    return { Actor: this.actor, Reason: this.reason, RequestID: this.requestId };
  }

  /** Of the transaction that the request causes. */
  get author(): Author {
    return onBehalfOf(this.onBehalf, this.traceparent);
  }

  /** Of one more transaction of the same request: a second with its id would count as a copy of the first (ST-6). */
  get laterAuthor(): Author {
    const { requestId: _, ...author } = this.author;
    return author;
  }
}

function reasonOf(header: string | string[] | undefined): string {
  const text = Array.isArray(header) ? (header[0] ?? '') : (header ?? '');
  // eslint-disable-next-line no-control-regex
  return text.replaceAll(/[\u0000-\u001f\u007f]/g, '').slice(0, MAX_REASON);
}
