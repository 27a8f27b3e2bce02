import type { DynamicModule } from '@nestjs/common';
import { API_ADDRESS, RegionCallsController, RegionJobs } from '@waybill/api';
import { brokerService } from '@waybill/broker';
import { deployments } from '@waybill/deployments';
import type { Clock } from '@waybill/model';
import { LogDivergedError, type LogHistory } from '@waybill/journal';
import { LeaseRunner, type Singleton } from '@waybill/roles';
import { DEFAULT_PACE, nodesService } from '@waybill/nodes';
import { Projector } from '@waybill/projector';
import { Replica } from '@waybill/replica';
import type { Presence } from '@waybill/rpc';
import { schedulerService } from '@waybill/scheduler';
import {
  Divergence,
  readSettings,
  type ServiceContext,
  type ServiceDefinition,
  type ServiceParts,
  userRightsOf,
} from '@waybill/service';
import { Metrics, tracerFor } from '@waybill/telemetry';
import { type Applied, restoredIndexOf, type Role, type StateMachine } from '@waybill/state';
import { volumes } from '@waybill/volumes';
import type { SimulatedProcess } from '../kernel/simulated-process.js';
import { answersOf } from './call-answers.js';
import { CallHost } from './call-host.js';
import { KeyringApi } from './keyring-api.js';
import { ReadingApi } from './reading-api.js';
import { regionsSeenBy } from './region-link.js';
import { DatabaseConnection } from './simulated-postgres.js';
import { seededEntropy } from './seeded-entropy.js';
import { SimulatedLog } from './simulated-log.js';
import { UserApi } from './user-api.js';
import type { World } from './world.js';

/** Longer than the usual TTL: the chatter of leases would be most of a run. */
const LEASE_TTL_MS = 6_000;
/** A copy of the state that could not start tries again after this, milliseconds. */
const RESTART_MS = 1_000;

const SETTINGS = readSettings(
  {
    WAYBILL_NATS_URL: 'nats://simulated',
    WAYBILL_LEASE_TTL_MS: String(LEASE_TTL_MS),
    WAYBILL_LOG_LEVEL: 'silent',
    WAYBILL_SCHEDULER_WORKERS: '1',
  },
  [],
);

/** Processes do not watch each other here: a machine's read at one that was killed ends by its time limit. */
const UNHEARD: Presence = { sign: () => {}, onSign: () => () => {}, announceChange: () => {} };

const servicesOf = (process: SimulatedProcess, { announcements }: World): readonly ServiceDefinition[] => [
  brokerService((_, receiver) => announcements.subscribe(process, receiver)),
  schedulerService(() => () => {}),
  nodesService(DEFAULT_PACE, () => UNHEARD),
  deployments,
  volumes,
];

/** @param address of the API, as other regions are told it */
const answersToRegions = (jobs: RegionJobs, address: string): DynamicModule => ({
  module: RegionCallsController,
  controllers: [RegionCallsController],
  providers: [
    { provide: RegionJobs, useValue: jobs },
    { provide: API_ADDRESS, useValue: { Address: address } },
  ],
});

/** What a server's copy of the state goes through, for those who check it. */
export interface ReplicaWitness {
  /** The server's own copy, or that of its projector, has been loaded from Postgres. */
  loaded(serverName: string, machine: StateMachine): void;
  started(serverName: string, replica: Replica): void;
  applied(serverName: string, applied: Applied): void;
  died(serverName: string): void;
}

/**
 * One process with all services of the control plane in it, built by their own definitions, and the API's writes; the
 * order of starting is that of RunningService. What it is given for NATS and Postgres is simulated.
 *
 * stopped → starting → serving → stopped. It may be killed at any moment.
 */
export class Server {
  private process: SimulatedProcess | undefined;
  private replica: Replica | undefined;
  private api: UserApi | undefined;
  private log: SimulatedLog | undefined;
  private runners: ReadonlyMap<Role, LeaseRunner> = new Map();
  private starts = 0;
  private wallClock: Parameters<SimulatedProcess['setClock']> = [0, 0];
  /** Whether its wall clock was wrong at any time. */
  clockWasWrong = false;

  constructor(
    readonly name: string,
    private readonly world: World,
    private readonly witness: ReplicaWitness,
  ) {}

  get isServing(): boolean {
    return this.api !== undefined;
  }

  /** Its API, while it serves. */
  get userApi(): UserApi | undefined {
    return this.api;
  }

  get state(): Replica | undefined {
    return this.replica;
  }

  /** What it knows of the log, while it runs. */
  get history(): LogHistory | undefined {
    return this.log?.history;
  }

  /** The process, while it is alive. */
  get running(): SimulatedProcess | undefined {
    return this.process;
  }

  /** What it has in memory of each role, whether it holds it or not. */
  get holdings(): ReadonlyMap<Role, Readonly<Record<string, number>>> {
    return new Map([...this.runners].map(([role, runner]) => [role, runner.stats()]));
  }

  /** Sets the wall clock of this server wrong, also for the processes that are started on it later. */
  setClock(...clock: Parameters<SimulatedProcess['setClock']>): void {
    this.wallClock = clock;
    if (clock.some((wrong) => wrong !== 0)) this.clockWasWrong = true;
    this.process?.setClock(...clock);
  }

  start(): void {
    if (this.process) return;
    this.starts++;
    const process = (this.process = this.world.spawn(this.name));
    process.setClock(...this.wallClock);
    void this.serve(process).catch((error: unknown) => {
      if (!process.isAlive) return;
      this.world.logger(this.name).warn('the server cannot start; trying again', { error });
      process.after(RESTART_MS, () => {
        this.kill();
        this.start();
      });
    });
  }

  /** Gone, without a word to anybody. */
  kill(): void {
    this.process?.kill();
    if (this.replica) this.witness.died(this.name);
    this.process = this.replica = this.api = this.log = undefined;
    this.runners = new Map();
  }

  private async serve(process: SimulatedProcess): Promise<void> {
    const { world, name } = this;
    const clock = world.clockOf(process);
    await clock.attend(() => world.natsTime(process));
    const archives = world.archives.archivesOf(process);
    const log = (this.log = new SimulatedLog(process, world.stream, world.wire, archives));
    const database = new DatabaseConnection(process, world.postgres, (machine) => this.witness.loaded(name, machine));
    const logger = world.logger(name);
    log.history.compareWith(() => database.mark());
    const divergence = this.watchDivergence(process, log, database);
    const replica = await this.openReplica(log, database, process, divergence);
    if (!process.isAlive) return;
    this.replica = replica;
    this.witness.started(name, replica);
    replica.onApplied((applied) => process.isAlive && this.witness.applied(name, applied));

    const context = (service: string): ServiceContext => this.contextOf(service, process, clock, replica, log);
    const parts: ServiceParts[] = [];
    for (const service of servicesOf(process, world)) parts.push(await service.build(context(service.name)));
    const projector = new Projector({
      log,
      events: world.events.streamOf(process),
      store: database,
      announcer: world.announcements.announcerOf(process),
      clock,
      timers: process,
      logger,
      onDiverged: (error) => log.history.reportDivergence(error),
    });
    if (!process.isAlive) return;
    const api = new UserApi(process, context('api'), database, archives);
    const modules = [...parts.map(({ module }) => module), answersToRegions(api.forRegions, name)];
    const guard = userRightsOf(context('rights'));
    const answers = modules.flatMap((module) => answersOf(module, guard));
    const host = new CallHost(process, world.calls, answers, world.region);
    world.announcements.subscribe(process, api.feed);
    if (world.hasAccessControl) {
      api.reading = await ReadingApi.open(process, context('reads'), world);
      if (!process.isAlive) return;
    }
    if (world.clusterKey !== undefined) {
      api.keyring = await KeyringApi.open(process, context('keyring'), world);
      if (!process.isAlive) return;
    }
    for (const part of parts) void part.start?.();
    const singletons = [...parts.flatMap((part) => part.singleton ?? []), projector];
    this.runners = new Map(singletons.map((one) => [one.role, this.runnerOf(one, process, clock, replica, host)]));
    for (const runner of this.runners.values()) runner.start();
    log.history.onDivergence(() => {
      for (const runner of this.runners.values()) void runner.stop();
    });
    this.api = api;
  }

  /** As `Infrastructure` does it: who has read what is lost starts anew once that is decided. */
  private watchDivergence(process: SimulatedProcess, log: SimulatedLog, recorded: DatabaseConnection): Divergence {
    const restoredIndexHere = (): number | undefined => this.replica && restoredIndexOf(this.replica.tables);
    const logger = this.world.logger(this.name);
    return new Divergence({ journal: log, recorded, timers: process, logger, restoredIndexHere }, (mustStartAnew) => {
      if (!mustStartAnew || !process.isAlive) return;
      this.kill();
      this.start();
    });
  }

  private async openReplica(
    log: SimulatedLog,
    snapshots: DatabaseConnection,
    process: SimulatedProcess,
    divergence: Divergence,
  ): Promise<Replica> {
    for (;;) {
      const replica = new Replica({
        log,
        snapshots,
        timers: process,
        logger: this.world.logger(this.name),
        onFatal: (error) => {
          if (!(error instanceof LogDivergedError)) this.world.simulator.fail(error);
        },
      });
      try {
        await replica.start();
        return replica;
      } catch (error) {
        if (!(error instanceof LogDivergedError)) throw error;
        await divergence.settled();
      }
    }
  }

  private runnerOf(
    singleton: Singleton,
    process: SimulatedProcess,
    clock: Clock,
    replica: Replica,
    host: CallHost,
  ): LeaseRunner {
    const { role } = singleton;
    return new LeaseRunner({
      singleton,
      store: this.world.leases.storeOf(process),
      state: replica,
      holder: `${this.name}-${this.starts}`,
      ttlMs: LEASE_TTL_MS,
      clock,
      monotonic: process.monotonic,
      timers: process,
      newId: process.newId,
      region: this.world.region,
      logger: this.world.logger(this.name),
      onTerm: (term) => (term ? host.enter(role) : host.leave(role)),
    });
  }

  private contextOf(
    name: string,
    process: SimulatedProcess,
    clock: Clock,
    state: Replica,
    log: SimulatedLog,
  ): ServiceContext {
    const missing = (what: string): never => {
      throw new Error(`${what} is not simulated`);
    };
    return {
      name,
      settings: { ...SETTINGS, WAYBILL_REGION: this.world.region, WAYBILL_KEYRING_KEY: this.wrappingKeyOf(name) },
      logger: this.world.logger(this.name),
      metrics: new Metrics(name),
      tracer: tracerFor('simulation'),
      clock,
      asksTime: () => () => {},
      timers: process,
      newId: process.newId,
      random: process.random.next,
      entropy: seededEntropy(process.random.fork(`entropy of ${name}`)),
      log,
      rpc: this.world.calls.rpcOf(process),
      audit: { record: () => {} },
      regions: regionsSeenBy(process, this.world),
      state,
      get history() {
        return missing('the history of the log');
      },
      get link() {
        return missing('the connection to NATS');
      },
      get database() {
        return missing('the pool of Postgres connections');
      },
    };
  }

  /** The nodes service has none, so that machines have no identities. Empty: the keyring is off. */
  private wrappingKeyOf(service: string): string {
    return service === 'nodes' ? '' : (this.world.clusterKey ?? '');
  }
}
