import { Controller, Put, Res } from '@nestjs/common';
import { type ApiReply, sendEmpty } from '../http/reply.js';
import { BrokerInquiry } from './broker-inquiry.js';

/** `/v1/system/…`: what an operator orders by hand. */
@Controller('v1/system')
export class SystemController {
  constructor(private readonly broker: BrokerInquiry) {}

  /** API-234: accepted, not done; while the broker is paused nothing comes of it. */
  @Put('gc')
  async gc(@Res() reply: ApiReply): Promise<void> {
    await this.broker.forceGc();
    sendEmpty(reply);
  }
}
