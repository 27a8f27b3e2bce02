import { Controller, Get, Req, Res } from '@nestjs/common';
import { namespaceOf, param } from '../http/query-string.js';
import { type ApiReply, type ApiRequest, sendJson } from '../http/reply.js';
import { GuardedRoutes } from './guarded-routes.js';
import { Needs } from './needs.decorator.js';
import { anybody } from './needs.js';
import { rightsOf } from './rights.js';

/**
 * `/v1/waybill/rights` lists the routes and topics that the caller may use, for pages that offer nothing else. The
 * routes themselves check again.
 */
@Controller('v1/waybill/rights')
export class RightsController {
  constructor(private readonly routes: GuardedRoutes) {}

  @Get()
  @Needs(anybody)
  async listRights(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const { access, query } = request;
    const about = { namespace: namespaceOf(query), path: param(query, 'path'), pool: param(query, 'pool') };
    sendJson(request, reply, await rightsOf(this.routes.all(), access, about));
  }
}
