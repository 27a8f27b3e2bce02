import { Controller, Get, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { operatorRead } from '../access/needs.js';
import { type ApiReply, type ApiRequest, sendJson } from '../http/reply.js';
import { controlPlaneOf } from './control-plane.js';
import { ControlPlaneReader } from './control-plane.transport.js';

/** `/v1/waybill/control-plane`: the roles with their holders, how far the log was projected, and the broker's queues. */
@Controller('v1/waybill/control-plane')
export class ControlPlaneController {
  constructor(private readonly reader: ControlPlaneReader) {}

  @Get()
  @Needs(operatorRead)
  async readControlPlane(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    sendJson(request, reply, controlPlaneOf(await this.reader.read()));
  }
}
