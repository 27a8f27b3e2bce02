import { Controller, Get, Req, Res } from '@nestjs/common';
import { ApiError } from '../http/api-error.js';
import { param } from '../http/query-string.js';
import { type ApiReply, type ApiRequest, sendJson } from '../http/reply.js';
import { ClusterMetrics } from './cluster-metrics.transport.js';
import { asJson, asPrometheusText } from './series.js';

/** `/v1/metrics` (OP-100 to OP-106). */
@Controller('v1/metrics')
export class MetricsController {
  constructor(private readonly metrics: ClusterMetrics) {}

  @Get()
  async read(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    if (param(request.query, 'format') !== 'prometheus') {
      const { shown, overS } = await this.metrics.lately();
      sendJson(request, reply, asJson(shown, this.metrics.clock.nowMs(), overS));
      return;
    }
    if (!this.metrics.forPrometheus) throw new ApiError(415, 'Prometheus is not enabled');
    const text = asPrometheusText(await this.metrics.read());
    reply.code(200).header('Content-Type', 'text/plain; version=0.0.4; charset=utf-8').send(text);
  }
}
