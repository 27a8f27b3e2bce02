import { Controller, Put, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { management } from '../access/needs.js';
import { type ApiReply, type ApiRequest, sendEmpty } from '../http/reply.js';
import { Requester } from '../http/requester.js';
import { BrokerInquiry } from '../operator/broker-inquiry.js';
import { ReconcileSummaries } from './reconcile-summaries.js';
import { callUserOf } from '../access/call-user.js';

/** The controller of `/v1/system/…`: manual orders of an operator. */
@Controller('v1/system')
export class SystemController {
  constructor(
    private readonly broker: BrokerInquiry,
    private readonly summaries: ReconcileSummaries,
  ) {}

  /** Accepts a collection without waiting for it (GC-108, API-234); while the broker is paused, none happens. */
  @Put('gc')
  @Needs(management)
  async gc(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    await this.broker.forceGc(callUserOf(request.access.caller));
    sendEmpty(reply);
  }

  /** Answers when the summaries are rewritten (GC-109). */
  @Put('reconcile/summaries')
  @Needs(management)
  async reconcileSummaries(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    await this.summaries.reconcile(Requester.of(request), callUserOf(request.access.caller));
    sendEmpty(reply);
  }
}
