import { Controller, Put, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { management } from '../access/needs.js';
import { type ApiReply, type ApiRequest, sendEmpty } from '../http/reply.js';
import { Requester } from '../http/requester.js';
import { BrokerInquiry } from '../operator/broker-inquiry.js';
import { ReconcileSummaries } from './reconcile-summaries.js';

/** `/v1/system/…`: what an operator orders by hand. */
@Controller('v1/system')
export class SystemController {
  constructor(
    private readonly broker: BrokerInquiry,
    private readonly summaries: ReconcileSummaries,
  ) {}

  /** GC-108, API-234: accepted, not done; while the broker is paused nothing comes of it. */
  @Put('gc')
  @Needs(management)
  async gc(@Res() reply: ApiReply): Promise<void> {
    await this.broker.forceGc();
    sendEmpty(reply);
  }

  /** GC-109: answered when the summaries are rewritten. */
  @Put('reconcile/summaries')
  @Needs(management)
  async reconcileSummaries(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    await this.summaries.reconcile(Requester.of(request));
    sendEmpty(reply);
  }
}
