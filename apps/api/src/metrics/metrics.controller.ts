import { Controller, Get, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { open } from '../access/needs.js';
import { MetricsView, PROMETHEUS_TYPE } from '@waybill/telemetry';
import { ApiError } from '../http/api-error.js';
import { param } from '../http/query-string.js';
import { type ApiReply, type ApiRequest, sendJson } from '../http/reply.js';

/** The controller of `/v1/metrics` (OP-100 to OP-106). */
@Controller('v1/metrics')
export class MetricsController {
  constructor(private readonly view: MetricsView) {}

  @Get()
  @Needs(open)
  async readMetrics(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    if (param(request.query, 'format') !== 'prometheus') return sendJson(request, reply, await this.view.json());
    if (!this.view.offersText) throw new ApiError(415, 'Prometheus is not enabled');
    reply
      .code(200)
      .header('Content-Type', PROMETHEUS_TYPE)
      .send(await this.view.text());
  }
}
