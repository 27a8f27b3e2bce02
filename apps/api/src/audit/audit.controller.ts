import { Controller, Get, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { management } from '../access/needs.js';
import { badRequest } from '../http/api-error.js';
import { type ApiReply, type ApiRequest, sendJson } from '../http/reply.js';
import { readAuditQuery } from './audit-query.js';
import { auditPage } from './audit-trail.js';
import { Audit } from './audit.js';

/** The controller of `/v1/waybill/audit`, which says who requested what, the newest first (AU-282). */
@Controller('v1/waybill/audit')
export class AuditController {
  constructor(private readonly audit: Audit) {}

  @Get()
  @Needs(management)
  async list(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const wanted = readAuditQuery(request.query);
    const { parts } = this.audit;
    if (!parts) throw badRequest('the audit log is off: set WAYBILL_AUDIT_ENABLED=true');
    const { records, nextToken } = await auditPage(parts.source, wanted);
    if (nextToken !== '') reply.header('X-Nomad-NextToken', nextToken);
    sendJson(request, reply, records);
  }
}
