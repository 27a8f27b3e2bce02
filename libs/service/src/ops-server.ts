import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Logger, Metrics, MetricsView } from '@waybill/telemetry';
import type { FastifyInstance } from 'fastify';
import { listen } from './listen.js';
import { NestLogger } from './nest-logger.js';
import { OPERATIONS, type Operations, OpsController } from './ops.controller.js';
import type { Settings } from './settings.js';
import type { StartSteps } from './start-steps.js';
import { guardWebAccess, webAccessOf } from './web/cross-origin.transport.js';

@Module({})
class OpsModule {}

export interface OpsServerDeps {
  readonly settings: Settings;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly steps: StartSteps;
}

/**
 * The ops port of a service, from the first moment of its start to the last of its stop.
 *
 * starting → serving → closed. While starting, `/healthz` succeeds unless a step is stuck, and `/readyz` names the
 * steps in progress. While serving, the service itself determines both.
 */
export class OpsServer implements Operations {
  private serving: Operations | undefined;
  private app: NestFastifyApplication | undefined;

  private constructor(private readonly deps: OpsServerDeps) {}

  /** @throws Error that names the settings if the port cannot be bound */
  static async open(deps: OpsServerDeps): Promise<OpsServer> {
    const ops = new OpsServer(deps);
    const adapter = new FastifyAdapter();
    guardWebAccess(adapter.getInstance<FastifyInstance>(), webAccessOf(deps.settings));
    const root = {
      module: OpsModule,
      controllers: [OpsController],
      providers: [{ provide: OPERATIONS, useValue: ops }],
    };
    const logger = new NestLogger(deps.logger);
    ops.app = await NestFactory.create<NestFastifyApplication>(root, adapter, { logger, abortOnError: false });
    await listen(ops.app, 'WAYBILL_OPS', deps.settings);
    return ops;
  }

  /** Lets the service itself answer from now on. */
  serve(operations: Operations): void {
    this.serving = operations;
  }

  /** The URL of /healthz, /readyz and /metrics. */
  async url(): Promise<string> {
    return (await this.app?.getUrl()) ?? '';
  }

  async close(): Promise<void> {
    await this.app?.close();
  }

  healthy(): boolean {
    return this.serving?.healthy() ?? !this.deps.steps.isStuck;
  }

  notReady(): string[] {
    if (this.serving) return this.serving.notReady();
    const { names } = this.deps.steps;
    return names.length === 0 ? ['starting'] : names.map((name) => `starting: ${name}`);
  }

  role(): string {
    return this.serving?.role() ?? 'starting';
  }

  metrics(): Promise<string> {
    return this.serving?.metrics() ?? this.deps.metrics.render();
  }

  get contractMetrics(): MetricsView | undefined {
    return this.serving?.contractMetrics;
  }
}
