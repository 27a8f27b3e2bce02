import { type Author, onBehalfOf } from '@waybill/writing';
import { randomUUID } from 'node:crypto';
import type { OnBehalfOf } from '@waybill/rpc';
import type { Actor } from '@waybill/state';
import type { ApiRequest } from './reply.js';
import { traceOf } from './trace-requests.js';

/** The largest length of a reason that is kept (API-260). */
const MAX_REASON = 256;

/**
 * Requester says who makes a request, why, and in which trace. The header of the transaction that the request causes
 * contains it.
 */
export class Requester {
  private constructor(
    readonly requestId: string,
    readonly reason: string,
    /** The W3C trace context of the request. */
    readonly traceparent: string | undefined,
    private readonly actor: Actor,
  ) {}

  static of(request: ApiRequest): Requester {
    const reason = reasonOf(request.headers['x-waybill-reason']);
    const requestId = randomUUID();
    request.notes?.writes(requestId);
    return new Requester(requestId, reason, traceOf(request), request.access.caller.actor);
  }

  /** Returns the requester of a request that another region has received (DP-1112). */
  static inOtherRegion({ Actor, Reason, RequestID }: OnBehalfOf, traceparent: string | undefined): Requester {
    return new Requester(RequestID, Reason, traceparent, Actor);
  }

  /** Returns the requester in the form for the service that writes for us. */
  get onBehalf(): OnBehalfOf {
    return { Actor: this.actor, Reason: this.reason, RequestID: this.requestId };
  }

  /** Returns the author of the transaction that the request causes. */
  get author(): Author {
    return onBehalfOf(this.onBehalf, this.traceparent);
  }

  /**
   * Returns the author of a further transaction of the same request. It has no request ID, because a second transaction
   * with the ID would count as a copy of the first (ST-6).
   */
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
