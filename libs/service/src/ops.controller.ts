import { Controller, Get, Header, HttpCode, Inject, Res } from '@nestjs/common';

/** What the operational endpoints tell. */
export interface Operations {
  /** Whether the process is worth keeping. */
  healthy(): boolean;
  /** Reasons why it cannot serve, none when ready. */
  notReady(): string[];
  /** What it does now: `holder, epoch 3`, `standby`, `serving`. */
  role(): string;
  metrics(): Promise<string>;
}

export const OPERATIONS = Symbol('operations');

interface Reply {
  code(status: number): Reply;
  send(body: unknown): void;
}

/** `/healthz` (restart me), `/readyz` (send me work), `/metrics` (Prometheus), on the ops port of every service. */
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
  @Header('content-type', 'text/plain; version=0.0.4; charset=utf-8')
  metrics(): Promise<string> {
    return this.operations.metrics();
  }
}
