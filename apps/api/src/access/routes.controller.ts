import { Controller, Get, Req, Res } from '@nestjs/common';
import { type ApiReply, type ApiRequest, sendJson } from '../http/reply.js';
import { GuardedRoutes } from './guarded-routes.js';
import { Needs } from './needs.decorator.js';
import { open } from './needs.js';

/** `/v1/waybill/routes` lists every route with the right that it needs, as the server checks it. */
@Controller('v1/waybill/routes')
export class RoutesController {
  constructor(private readonly routes: GuardedRoutes) {}

  @Get()
  @Needs(open)
  listRoutes(@Req() request: ApiRequest, @Res() reply: ApiReply): void {
    sendJson(request, reply, this.routes.all());
  }
}
