import { Controller, Get, Header, HttpCode, Inject, Query, Res } from '@nestjs/common';
import { type MetricsView, PROMETHEUS_TYPE } from '@waybill/telemetry';

/** The state of a service for its operational endpoints. */
export interface Operations {
  /** Whether the process should keep running. */
  healthy(): boolean;
  /** Reasons why the service cannot serve. Empty if it is ready. */
  notReady(): string[];
  /** The present role: `holder, epoch 3`, `standby`, `serving`. */
  role(): string;
  metrics(): Promise<string>;
  /** Metrics for clients of the contract, or undefined. */
  readonly contractMetrics: MetricsView | undefined;
}

export const OPERATIONS = Symbol('operations');

interface Reply {
  code(status: number): Reply;
  type(contentType: string): Reply;
  send(body: unknown): void;
}

/**
 * `/healthz` (whether to restart), `/readyz` (whether to send work) and `/metrics` (Prometheus) on the ops port of
 * every service. A machine also has `/v1/metrics`, which dashboards read from the reference's agents (OP-100).
 */
@Controller()
export class OpsController {
  constructor(@Inject(OPERATIONS) private readonly operations: Operations) {}

  @Get('healthz')
  healthz(@Res() reply: Reply): void {
    const healthy = this.operations.healthy();
    reply.code(healthy ? 200 : 503).send({ healthy });
  }

  @Get('readyz')
  readyz(@Res() reply: Reply): void {
    const reasons = this.operations.notReady();
    const ready = reasons.length === 0;
    reply.code(ready ? 200 : 503).send({ ready, reasons, role: this.operations.role() });
  }

  @Get('metrics')
  @HttpCode(200)
  @Header('content-type', PROMETHEUS_TYPE)
  metrics(): Promise<string> {
    return this.operations.metrics();
  }

  @Get('v1/metrics')
  async contractMetrics(@Query('format') format: unknown, @Res() reply: Reply): Promise<void> {
    const view = this.operations.contractMetrics;
    if (!view) reply.code(404).send('');
    else if (format !== 'prometheus') reply.send(await view.json());
    else if (!view.offersText) reply.code(415).type('text/plain; charset=utf-8').send('Prometheus is not enabled');
    else reply.type(PROMETHEUS_TYPE).send(await view.text());
  }
}
