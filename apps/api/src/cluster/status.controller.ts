import { Controller, Get, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { open } from '../access/needs.js';
import { type ApiReply, type ApiRequest, sendJson } from '../http/reply.js';
import { RegionForwarding } from '../regions/forwarding.transport.js';
import { Leadership } from './leadership.js';
import { addressOf } from './member.js';
import { Members } from './members.transport.js';

/** The controller of `/v1/status/leader`, `/v1/status/peers` and `/v1/regions`. */
@Controller('v1')
export class StatusController {
  constructor(
    private readonly members: Members,
    private readonly leadership: Leadership,
    private readonly forwarding: RegionForwarding,
  ) {}

  @Get('status/leader')
  @Needs(open)
  async leader(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const [isHeld, [first]] = await Promise.all([this.leadership.isHeld(), this.members.list()]);
    sendJson(request, reply, isHeld && first ? addressOf(first) : '');
  }

  @Get('status/peers')
  @Needs(open)
  async peers(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    sendJson(request, reply, (await this.members.list()).map(addressOf));
  }

  @Get('regions')
  @Needs(open)
  regions(@Req() request: ApiRequest, @Res() reply: ApiReply): void {
    sendJson(request, reply, this.forwarding.regions);
  }
}
