import { hostname } from 'node:os';
import { type DynamicModule, type INestMicroservice, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { SYSTEM_ENTROPY } from '@waybill/keyring';
import type { LogHistory } from '@waybill/journal';
import { KvLeaseStore, LeaseRunner, monotonicClock, type Singleton } from '@waybill/roles';
import type { Replica } from '@waybill/replica';
import { type CallGuard, NatsRpc, RpcServer } from '@waybill/rpc';
import {
  createLogger,
  type Logger,
  Metrics,
  startTracing,
  tracerFor,
  type Tracing,
  snakeCase,
} from '@waybill/telemetry';
import { AuditedCalls, auditedRole } from './audited-role.js';
import { callMeter } from './call-meter.js';
import type { EndSignal, ServiceContext, ServiceDefinition, ServiceParts } from './definition.js';
import { offerFigures } from './figures.transport.js';
import type { Infrastructure } from './infrastructure.js';
import { metricsHost } from './metrics-view.js';
import { NestLogger } from './nest-logger.js';
import { OpsServer } from './ops-server.js';
import type { Operations } from './ops.controller.js';
import { RoleAudit } from './role-audit.js';
import { type Settings, SettingsError } from './settings.js';
import { stateGauges } from './state-gauges.js';
import { newUuid, systemTimers } from './system.js';
import { userRightsOf } from './user-rights.js';

/** A readable state, such as `broker  holder, epoch 3`. */
export interface ServiceState {
  readonly name: string;
  readonly ready: boolean;
  readonly detail: string;
}

export interface StartOptions {
  /** Whether memory, CPU and event loop of the process are added to the metrics, once per process. */
  readonly processMetrics?: boolean;
  /** Destination of log lines instead of standard output. */
  readonly logTo?: { write(line: string): void };
}

@Module({})
class ServiceModule {}

/** The parts of a running service. */
interface StartedParts {
  readonly definition: ServiceDefinition;
  readonly parts: ServiceParts;
  readonly app: INestMicroservice;
  readonly rpcServer: RpcServer;
  /** Absent if the service has no role. */
  readonly runner: LeaseRunner | undefined;
  readonly audit: RoleAudit;
  readonly ops: OpsServer;
  readonly tracing: Tracing;
  /** Stops answering requests other than the service's calls. */
  readonly endOffer: () => void;
  readonly opsUrl: string;
}

/**
 * One service in this process.
 *
 * Modes: starting → running (→ leaving) → stopping → stopped. Starting opens the ops port, then infrastructure, the
 * service's parts, RPC, and finally the lease and the service's own work. While leaving, everything works on until the
 * service has handed over its work. Stopping reverses the start: no new work and no new calls, the lease is released,
 * work in progress is finished and answered, and only then the owner of the infrastructure closes the connections.
 */
export class RunningService {
  private constructor(private readonly started: StartedParts) {}

  get definition(): ServiceDefinition {
    return this.started.definition;
  }

  /** The URL of /healthz, /readyz and /metrics. */
  get opsUrl(): string {
    return this.started.opsUrl;
  }

  /** @throws SettingsError if the service does not start with these settings */
  static async start(
    definition: ServiceDefinition,
    settings: Settings,
    infrastructure: Infrastructure,
    options: StartOptions = {},
  ): Promise<RunningService> {
    assertStartable(definition, settings);
    const { name } = definition;
    const logger = createLogger(name, settings.WAYBILL_LOG_LEVEL, {
      format: settings.WAYBILL_LOG_FORMAT,
      ...(options.logTo && { destination: options.logTo }),
    });
    const metrics = options.processMetrics ? new Metrics(name).withProcessMetrics() : new Metrics(name);
    const { steps } = infrastructure;
    const ops = await OpsServer.open({ settings, logger, metrics, steps });
    try {
      return await RunningService.startBehind(ops, { definition, settings, infrastructure, logger, metrics });
    } catch (error) {
      await ops.close();
      throw error;
    }
  }

  private static async startBehind(ops: OpsServer, sources: ServiceSources): Promise<RunningService> {
    const { definition, settings, infrastructure, logger, metrics } = sources;
    const { name, needs } = definition;
    stateGauges(metrics, {
      copy: needs.state ? () => infrastructure.openedReplica : undefined,
      notReady: () => ops.notReady(),
      isDiverged: hasLog(definition) ? () => infrastructure.divergence !== undefined : undefined,
      damagedStatements: settings.WAYBILL_DATABASE_URL ? () => infrastructure.databaseDamage.statements : undefined,
    });
    const tracing = await startTracing({ service: name, endpoint: process.env['OTEL_EXPORTER_OTLP_ENDPOINT'] });
    const { context, audit } = await contextOf(sources);
    const parts = await infrastructure.steps.during(`building the service ${name}`, async () =>
      definition.build(context),
    );
    const rpcServer = new RpcServer(context.link.nc, {
      ...(parts.rpcTarget !== undefined && { target: parts.rpcTarget }),
      region: settings.WAYBILL_REGION,
      inboxPrefix: context.link.inboxPrefix,
      ...guardOf(definition, parts, context),
      onAnswer: callMeter(metrics),
      onError: (call, error) => logger.error('a call failed', { call, error }),
    });
    const copy = await copyOf(definition, parts, infrastructure);
    const runner =
      parts.singleton && copy && (await leaseRunner(parts.singleton, { infrastructure, copy, context, rpcServer }));
    const history = hasLog(definition) ? context.history : undefined;
    const app = await rpcApp(parts.module, rpcServer, logger);
    await app.listen();
    ops.serve(operationsOf({ context, copy, parts, runner, history }));
    await parts.start?.();
    runner?.start();
    // The process gives up its role while the log has diverged, because it must not decide on it.
    const offDivergence = history?.onDivergence(() => void runner?.stop());
    // Machines offer no figures: there are many of them, and their metrics are not gathered.
    const endOffer =
      parts.rpcTarget === undefined ? offerFigures(context.link.nc, metrics, metricsHost(settings)) : () => {};
    return new RunningService({
      definition,
      parts,
      app,
      rpcServer,
      runner,
      audit,
      ops,
      tracing,
      endOffer: () => {
        endOffer();
        offDivergence?.();
      },
      opsUrl: await ops.url(),
    });
  }

  state(): ServiceState {
    const reasons = this.started.ops.notReady();
    return {
      name: this.started.definition.name,
      ready: reasons.length === 0,
      detail: reasons[0] ?? this.started.ops.role(),
    };
  }

  /** Milliseconds that the service's own stop may take in addition to the usual limit. */
  get stopTakesMs(): number {
    return this.started.parts.stopTakesMs ?? 0;
  }

  async reload(): Promise<void> {
    await this.started.parts.reload?.();
  }

  async leave(signal: EndSignal): Promise<void> {
    await this.started.parts.leave?.(signal);
  }

  async stop(): Promise<void> {
    this.started.endOffer();
    await this.started.rpcServer.end();
    await this.started.runner?.stop();
    await this.started.parts.stop?.();
    await this.started.audit.stop();
    await this.started.app.close();
    await this.started.ops.close();
    await this.started.tracing.stop();
  }
}

/** The inputs for starting a service. */
interface ServiceSources {
  readonly definition: ServiceDefinition;
  readonly settings: Settings;
  readonly infrastructure: Infrastructure;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Returns the context of a service, and what the shell has to stop at its end. */
async function contextOf(
  sources: ServiceSources,
): Promise<{ readonly context: ServiceContext; readonly audit: RoleAudit }> {
  const { definition, settings, infrastructure, logger, metrics } = sources;
  const { name, needs } = definition;
  const link = await infrastructure.link();
  const journal = hasLog(definition) ? (await infrastructure.nats()).journal : undefined;
  if (needs.database) await infrastructure.migrate();
  const state = needs.state ? await infrastructure.replica() : undefined;
  const database = needs.database ? await infrastructure.database() : undefined;
  const refuse = (what: string): never => {
    throw new Error(`${name} did not declare that it needs ${what}`);
  };
  const { clock } = infrastructure;
  const rpc = new NatsRpc(link.nc, link.inboxPrefix);
  const dropped = metrics.counter('audit_role_events_dropped', 'events for the audit log that no API took');
  const drop = (): void => dropped.inc();
  const audit = new RoleAudit({ rpc, clock, timers: systemTimers, newId: newUuid, logger, dropped: drop });
  const context: ServiceContext = {
    name,
    settings,
    logger,
    metrics,
    get tracer() {
      return tracerFor(name);
    },
    clock,
    asksTime: () => clock.asks(),
    timers: systemTimers,
    newId: newUuid,
    random: Math.random,
    entropy: SYSTEM_ENTROPY,
    link,
    get log() {
      return journal ?? refuse('state or the database, without which there is no log');
    },
    get history() {
      return journal?.history ?? refuse('state or the database, without which there is no log');
    },
    rpc: new AuditedCalls(rpc, audit, clock),
    audit,
    get regions() {
      return infrastructure.regions();
    },
    get state() {
      return state ?? refuse('state');
    },
    get database() {
      return database ?? refuse('database');
    },
  };
  return { context, audit };
}

function guardOf(
  { needs }: ServiceDefinition,
  { guard }: ServiceParts,
  context: ServiceContext,
): { readonly guard?: CallGuard } {
  if (guard) return { guard };
  return needs.state ? { guard: userRightsOf(context) } : {};
}

/** Whether the service has access to the log. A machine's agent does not. */
const hasLog = ({ needs }: ServiceDefinition): boolean => needs.state || needs.database;

/** Returns the copy of the state for the service or its lease. */
async function copyOf(
  { needs }: ServiceDefinition,
  { singleton }: ServiceParts,
  infrastructure: Infrastructure,
): Promise<Replica | undefined> {
  if (needs.state) return infrastructure.replica();
  return singleton && infrastructure.leases();
}

interface OperationsSources {
  readonly context: ServiceContext;
  /** The copy of the state for the service, if it has one. */
  readonly copy: Replica | undefined;
  readonly parts: ServiceParts;
  readonly runner: LeaseRunner | undefined;
  readonly history: LogHistory | undefined;
}

function operationsOf({ context, copy, parts, runner, history }: OperationsSources): Operations {
  return {
    healthy: () => true,
    notReady: () => {
      const reasons: string[] = [];
      if (!context.link.up) reasons.push('not connected to NATS');
      const divergence = history?.divergence;
      if (divergence) reasons.push(divergence.message);
      else if (copy && !copy.ready) reasons.push('the copy of the state has stopped');
      const own = parts.notReady?.();
      if (own) reasons.push(own);
      return reasons;
    },
    role: () => {
      if (!runner) return 'serving';
      return runner.epoch === undefined ? 'standby' : `holder, epoch ${runner.epoch}`;
    },
    metrics: async () => (await context.metrics.render()) + ((await parts.metrics?.text()) ?? ''),
    contractMetrics: parts.metrics,
  };
}

/** Creates the app that answers the calls of the service's controllers. */
function rpcApp(module: DynamicModule, strategy: RpcServer, logger: Logger): Promise<INestMicroservice> {
  const root: DynamicModule = { module: ServiceModule, imports: [module] };
  return NestFactory.createMicroservice(root, { strategy, logger: new NestLogger(logger), abortOnError: false });
}

/** The inputs for the runner of a singleton. */
interface LeaseParts {
  readonly infrastructure: Infrastructure;
  readonly copy: Replica;
  readonly context: ServiceContext;
  readonly rpcServer: RpcServer;
}

/** Starts the contest for the role. The role's calls are answered here only while this process holds it. */
async function leaseRunner(
  singleton: Singleton,
  { infrastructure, copy, context, rpcServer }: LeaseParts,
): Promise<LeaseRunner> {
  const { role } = singleton;
  const runner = new LeaseRunner({
    singleton: auditedRole(singleton, context.audit),
    store: new KvLeaseStore(await infrastructure.leaseLink(), context.link),
    state: copy,
    holder: `${hostname()}-${process.pid}-${context.newId().slice(0, 8)}`,
    ttlMs: context.settings.WAYBILL_LEASE_TTL_MS,
    clock: context.clock,
    monotonic: monotonicClock,
    timers: context.timers,
    newId: context.newId,
    region: context.settings.WAYBILL_REGION,
    logger: context.logger,
    onTerm: (term) => {
      if (term) rpcServer.enter(role);
      else rpcServer.leave(role);
    },
  });
  context.metrics.gauge('role_epoch', 'epoch of the role held, 0 while standing by', {
    collect: () => runner.epoch ?? 0,
  });
  context.metrics.gauge('nomad_waybill_lease_held', 'whether this process holds the role: 0 or 1', {
    labels: ['role'],
    collectInto: (gauge) => gauge.set({ role }, runner.epoch === undefined ? 0 : 1),
  });
  for (const stat of Object.keys(singleton.stats()))
    context.metrics.gauge(`${role}_${snakeCase(stat)}`, `${stat} of the holder of the role ${role}`, {
      collect: () => singleton.stats()[stat] ?? 0,
    });
  return runner;
}

/** @throws SettingsError for a combination of valid settings with which the service does not start */
export function assertStartable({ refuses }: ServiceDefinition, settings: Settings): void {
  const problems = refuses?.(settings) ?? [];
  if (problems.length > 0) throw new SettingsError(problems);
}
