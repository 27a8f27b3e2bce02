import type { Refusal } from '@waybill/model';
import { Controller, Get, Req, Res } from '@nestjs/common';
import { credentialOf } from '../access/routes.guard.js';
import { Needs } from '../access/needs.decorator.js';
import { anybody } from '../access/needs.js';
import { EventLog } from '@waybill/projection';
import { ApiError, badRequest, serverFailure } from '../http/api-error.js';
import { boolParam, namespaceOf, param, params, type QueryString } from '../http/query-string.js';
import { NEXT_TRAILER } from '../http/line-sink.js';
import { type ApiReply, type ApiRequest, beginStream } from '../http/reply.js';
import { EventFilter, parseTopics } from './event-filter.js';
import { RestoreWatch } from './restore-watch.js';
import { StreamPermits } from './stream-permit.js';
import { type Served, Subscriptions } from './subscriptions.js';

/** The controller of `/v1/event/stream` (EV-20 to EV-29, EV-60 to EV-70). */
@Controller('v1/event')
export class EventStreamController {
  constructor(
    private readonly events: EventLog,
    private readonly subscriptions: Subscriptions,
    private readonly restores: RestoreWatch,
    private readonly permits: StreamPermits,
  ) {}

  @Get('stream')
  @Needs(anybody)
  async stream(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    if (!this.subscriptions.enabled) throw serverFailure('EventBroker not configured');
    const { query } = request;
    const fromIndex = fromIndexOf(query);
    const topics = parseTopics(params(query, 'topic'));
    const namespace = namespaceOf(query);
    const untilHead = untilHeadOf(query);
    const isVisibleOnly = boolParam(query, 'visible') ?? false;
    const permit = await this.permits.open({ credential: credentialOf(request), topics, namespace, isVisibleOnly });
    try {
      const filter = new EventFilter(topics, namespace, permit.filter);
      await this.send(request, reply, { fromIndex, filter, untilHead, permit });
    } finally {
      permit.close();
    }
  }

  private async send({ query }: ApiRequest, reply: ApiReply, wanted: Served): Promise<void> {
    const { fromIndex } = wanted;
    const { head } = this.events;
    const floor = await this.events.floor();
    const strict = boolParam(query, 'strict') ?? false;
    const bounds = {
      'X-Waybill-Event-Floor': String(floor),
      'X-Waybill-Event-Head': String(head),
      ...(this.restores.index > 0 && { 'X-Waybill-Event-Restored': String(this.restores.index) }),
    };
    if (strict && fromIndex > 0 && fromIndex < floor) {
      for (const [name, value] of Object.entries(bounds)) reply.header(name, value);
      throw new ApiError(410, 'requested index not in buffer');
    }
    const raw = await beginStream(reply, 200);
    raw.writeHead(200, {
      'Content-Type': 'application/json',
      'Cache-Control': 'no-cache',
      Trailer: NEXT_TRAILER,
      ...bounds,
    });
    // The memory may hold events older than the retained ones. They are not sent, so that the oldest index is the same
    // for all clients.
    await this.subscriptions.serve(raw, { ...wanted, fromIndex: fromIndex > 0 ? Math.max(fromIndex, floor) : 0 });
  }
}

const LARGEST_INDEX = 2n ** 63n - 1n;

/**
 * Returns the index from which events are requested; 0 stands for the oldest retained event (API-403, EV-21, EV-63,
 * EV-67). @throws Refusal invalid
 */
function fromIndexOf(query: QueryString): number {
  const text = param(query, 'index');
  if (text === undefined || text === '') return 0;
  const invalidRequest = (why: string): Refusal =>
    badRequest(`Unable to parse index: strconv.ParseUint: parsing ${JSON.stringify(text)}: ${why}`);
  if (!/^\d+$/.test(text)) throw invalidRequest('invalid syntax');
  if (text.length > 20 || BigInt(text) > LARGEST_INDEX) throw invalidRequest('value out of range');
  return Number(text);
}

/**
 * Reads `until=head`, an addition to the reference: the stream ends after everything applied at its beginning was
 * written, with one more heartbeat. @throws Refusal invalid
 */
function untilHeadOf(query: QueryString): boolean {
  const text = param(query, 'until') ?? '';
  if (text !== '' && text !== 'head') throw badRequest('the only value of until is "head"');
  return text === 'head';
}
