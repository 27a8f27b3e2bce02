import { Controller, Get, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { open } from '../access/needs.js';
import { type ApiReply, type ApiRequest, sendJson } from '../http/reply.js';
import { openApiDocument } from './document.js';

/** The controller of `/v1/waybill/openapi.json`, which describes the API for programs that generate clients. */
@Controller('v1/waybill/openapi.json')
export class OpenApiController {
  private readonly document = openApiDocument();

  @Get()
  @Needs(open)
  readDescription(@Req() request: ApiRequest, @Res() reply: ApiReply): void {
    sendJson(request, reply, this.document);
  }
}
