import {
  connect,
  ensureStreams,
  initialise,
  Journal,
  LogDivergedError,
  type LogHistory,
  LogUnavailableError,
  MAX_MESSAGE_BYTES,
  type NatsLink,
  serverTime,
} from '@waybill/journal';
import { LEASE_TABLES, LEASE_TXNS, monotonicClock } from '@waybill/roles';
import { Replica, SnapshotNeededError, type SnapshotSource } from '@waybill/replica';
import { restoredIndexOf, type TableName, type TxnType } from '@waybill/state';
import type { Logger } from '@waybill/telemetry';
import type { Pool } from 'pg';
import { DatabaseDamage } from './database-damage.js';
import { Divergence, HistoryChangedError, type RecordedHistory } from './divergence.js';
import { MachineClock } from './machine-clock.js';
import type { Settings } from './settings.js';
import { StartSteps } from './start-steps.js';
import { natsTlsFiles } from './tls/tls-settings.js';
import { PeerRegions } from './peer-regions.transport.js';
import { newUuid, systemTimers } from './system.js';

/** Milliseconds of one connection attempt if others follow. Its failure names what is missing. */
const CONNECT_ATTEMPT_MS = 1_000;
const STREAMS_ATTEMPT_MS = 3_000;

/** Connections of one process to PostgreSQL. The read path of the API and the projector's writer share them. */
const MAX_DATABASE_CONNECTIONS = 10;

/** The connection to NATS, and the log over it. */
export interface LogConnection {
  readonly link: NatsLink;
  readonly journal: Journal;
  readonly divergence: Divergence;
}

export interface InfrastructureOptions {
  /** Name of the connections to NATS and PostgreSQL. */
  readonly processName: string;
  readonly settings: Settings;
  readonly logger: Logger;
  /** Called when the process cannot continue with its copy of the state. */
  readonly onFatal: (error: Error) => void;
  /** Whether any service of the process needs the whole state. The default is yes. */
  readonly hasState?: boolean;
  /**
   * Whether the process waits for NATS and PostgreSQL until they are ready. By default, steps that need them fail after
   * some seconds.
   */
  readonly waits?: boolean;
  /** Proves this process to NATS at each attempt to connect. By default its key is enough. */
  readonly natsProof?: (() => string) | undefined;
  /** Called, in addition to the log line, when the log has diverged. */
  readonly say?: ((line: string) => void) | undefined;
}

/**
 * Infrastructure that the services of one process share: one connection to NATS and another for leases, one pool to
 * PostgreSQL, and one copy of the state. Each part is opened on first use and closed once, at the end. In production a
 * process has one service. `npm start` has all services in one process, and sharing keeps it small.
 */
export class Infrastructure {
  /** The time of day for the whole process. */
  readonly clock: MachineClock;
  private readonly hasState: boolean;
  private linkOpened: Promise<NatsLink> | undefined;
  private leaseLinkOpened: Promise<NatsLink> | undefined;
  private natsOpened: Promise<LogConnection> | undefined;
  private poolOpened: Promise<Pool> | undefined;
  private replicaOpened: Promise<Replica> | undefined;
  private leasesOpened: Promise<Replica> | undefined;
  private regionsOpened: PeerRegions | undefined;
  /** Damage of files that statements of this process met. */
  readonly databaseDamage: DatabaseDamage;
  /** The steps in progress, so that a waiting service names them. */
  readonly steps: StartSteps;
  private replicaBeingOpened: Replica | undefined;
  private history: LogHistory | undefined;
  /** Copies of the state that follow the log. */
  private readonly copies = new Set<Replica>();

  constructor(private readonly options: InfrastructureOptions) {
    const { logger } = options;
    this.hasState = options.hasState ?? true;
    this.clock = new MachineClock({ timers: systemTimers, logger });
    this.databaseDamage = new DatabaseDamage(logger);
    this.steps = new StartSteps({ monotonic: monotonicClock, timers: systemTimers, logger });
  }

  /** The copy of the state once its loading has started, undefined before. */
  get openedReplica(): Pick<Replica, 'appliedIndex' | 'defects'> | undefined {
    return this.replicaBeingOpened;
  }

  /** Why the log is not the one that this process knows. Undefined if it is, or is not open yet. */
  get divergence(): LogDivergedError | undefined {
    return this.history?.divergence;
  }

  /** Opens only the connection, for services without access to the log. */
  link(): Promise<NatsLink> {
    return (this.linkOpened ??= this.openLink());
  }

  /**
   * Opens the connection over which leases are renewed. The log uses the other connection and may be up to 32 MB ahead
   * of its reader, so a response to a renewal behind it could arrive after the lease has expired.
   */
  leaseLink(): Promise<NatsLink> {
    return (this.leaseLinkOpened ??= this.step('connecting to NATS for the lease', () =>
      this.connect(`waybill-${this.options.processName}-leases`),
    ));
  }

  /** Opens the connection and the log, with its streams and its first transaction. */
  nats(): Promise<LogConnection> {
    return (this.natsOpened ??= this.openNats());
  }

  database(): Promise<Pool> {
    return (this.poolOpened ??= this.openPool());
  }

  /** Opens the copy of the state and catches up with the log. */
  replica(): Promise<Replica> {
    return (this.replicaOpened ??= this.openReplica());
  }

  /** Opens a copy of the state with the leases, caught up with the log. It is the full copy if this process has one. */
  leases(): Promise<Replica> {
    if (this.hasState) return this.replica();
    return (this.leasesOpened ??= this.openReplica(LEASE_TABLES, LEASE_TXNS));
  }

  /** Opens the connections to other regions, which come up by themselves. */
  regions(): PeerRegions {
    return (this.regionsOpened ??= new PeerRegions({
      own: this.options.settings.WAYBILL_REGION,
      peers: this.options.settings.WAYBILL_PEERS,
      name: `waybill-${this.options.settings.WAYBILL_REGION}-${this.options.processName}`,
      credentialsFile: this.options.settings.WAYBILL_NATS_CREDENTIALS,
      tls: natsTlsFiles(this.options.settings),
      timers: systemTimers,
      logger: this.options.logger,
    }));
  }

  /** Closes all open parts in reverse order. The services must have stopped before. */
  async close(): Promise<void> {
    this.clock.stop();
    // A copy may still wait for an operator's decision.
    void this.natsOpened?.then(({ divergence }) => divergence.stop()).catch(() => undefined);
    await (await this.replicaOpened?.catch(() => undefined))?.stop();
    await (await this.leasesOpened?.catch(() => undefined))?.stop();
    await this.regionsOpened?.close();
    const nats = await this.natsOpened?.catch(() => undefined);
    nats?.divergence.stop();
    nats?.journal.close();
    await (await this.leaseLinkOpened?.catch(() => undefined))?.close();
    await (await this.linkOpened?.catch(() => undefined))?.close();
    await (await this.poolOpened?.catch(() => undefined))?.end().catch(() => undefined);
  }

  private connect(name: string): Promise<NatsLink> {
    const { settings, waits, natsProof, logger } = this.options;
    return connect({
      url: settings.WAYBILL_NATS_URL,
      name,
      ...(waits && { firstConnectMs: CONNECT_ATTEMPT_MS }),
      credentialsFile: settings.WAYBILL_NATS_CREDENTIALS,
      tls: natsTlsFiles(settings),
      proof: natsProof && {
        text: natsProof,
        onError: (error) => logger.error('this process cannot prove itself to NATS; trying again', { error }),
      },
    });
  }

  private async openLink(): Promise<NatsLink> {
    const link = await this.step('connecting to NATS', () => this.connect(`waybill-${this.options.processName}`));
    const maxBytes = link.nc.info?.max_payload ?? MAX_MESSAGE_BYTES;
    if (this.hasState && maxBytes < MAX_MESSAGE_BYTES)
      this.options.logger.warn(
        'NATS takes smaller messages than large plans and jobs need: raise its max_payload to 8MB',
        {
          maxBytes,
        },
      );
    link.onChange((up) => {
      if (up) this.options.logger.info('NATS is there again');
      else if (!link.closed) this.options.logger.warn('the connection to NATS is lost; trying again until it is back');
    });
    return link;
  }

  private async openNats(): Promise<LogConnection> {
    const link = await this.link();
    const { settings, waits } = this.options;
    await this.step('making the streams of the log', () =>
      ensureStreams(link, {
        replicas: settings.WAYBILL_STREAM_REPLICAS,
        ...(waits && { deadlineMs: STREAMS_ATTEMPT_MS }),
      }),
    );
    await this.clock.attend(() => serverTime(link));
    const journal = new Journal(link);
    this.history = journal.history;
    const recorded = await this.recordedHistory();
    if (recorded) journal.history.compareWith(() => recorded.mark());
    const divergence = new Divergence(
      {
        journal,
        recorded,
        timers: systemTimers,
        logger: this.options.logger,
        restoredIndexHere: () => this.restoredIndexHere(),
        say: this.options.say,
      },
      (mustStartAnew) => {
        if (mustStartAnew) this.options.onFatal(new HistoryChangedError());
      },
    );
    await this.step('writing the first transaction of an empty log', async () => {
      try {
        await initialise(journal, { region: settings.WAYBILL_REGION, clock: this.clock, newId: newUuid });
      } catch (error) {
        // If PostgreSQL knows transactions that an empty log does not have, the users of the log wait for an operator's
        // decision.
        if (!journal.history.divergence) throw error;
      }
    });
    return { link, journal, divergence };
  }

  /** Runs a step that needs NATS or PostgreSQL. If the process waits for them, a failed step is retried. */
  private step<T>(name: string, step: () => Promise<T>, isPassing = isPassingLogError): Promise<T> {
    return this.options.waits ? this.steps.untilDone(name, step, isPassing) : this.steps.during(name, step);
  }

  private async openPool(): Promise<Pool> {
    const { openPool } = await import('@waybill/projection'); // machines have no database, and do not load what one needs
    return openPool(this.options.settings.WAYBILL_DATABASE_URL, {
      size: MAX_DATABASE_CONNECTIONS,
      applicationName: `waybill-${this.options.processName}`,
      // The pool replaces the connection on its next use.
      onError: (error) => this.options.logger.warn('a connection to Postgres broke', { error }),
      onDamage: (reason) => this.databaseDamage.met(reason),
    });
  }

  private async snapshotsOf(tables?: readonly TableName[]): Promise<SnapshotSource | null> {
    if (!this.options.settings.WAYBILL_DATABASE_URL) return null;
    const { PostgresSnapshots } = await import('@waybill/projection');
    return new PostgresSnapshots(await this.database(), tables);
  }

  private async openReplica(tables?: readonly TableName[], types?: ReadonlySet<TxnType>): Promise<Replica> {
    const { journal, divergence } = await this.nats();
    const load = () => this.loadReplica(journal, tables, types);
    for (;;) {
      try {
        return await this.step('loading the state', load, (error) => error instanceof SnapshotNeededError);
      } catch (error) {
        if (!(error instanceof LogDivergedError)) throw error;
        await this.steps.during(
          `waiting until an operator decides about the log: ${error.message}`,
          () => divergence.settled(),
          { hasLimit: false },
        );
        if (divergence.isStopped) throw error;
      }
    }
  }

  private async loadReplica(
    journal: Journal,
    tables: readonly TableName[] | undefined,
    types: ReadonlySet<TxnType> | undefined,
  ): Promise<Replica> {
    // During the start, its failure is the failure of the start.
    let isStarted = false;
    let failure: Error | undefined;
    const replica = new Replica({
      log: journal,
      snapshots: await this.snapshotsOf(tables),
      ...(types && { types }),
      timers: systemTimers,
      logger: this.options.logger,
      onFatal: (error) => {
        failure = error;
        // The process continues, reports why it is not ready, and starts over when an operator has decided.
        if (isStarted && !(error instanceof LogDivergedError)) this.options.onFatal(error);
      },
    });
    this.replicaBeingOpened = replica;
    await replica.start();
    if (failure) throw failure;
    isStarted = true;
    this.copies.add(replica);
    return replica;
  }

  /** Returns the last restore in the copies of the state here, or undefined if none has read the log. */
  private restoredIndexHere(): number | undefined {
    const known = [...this.copies].map(({ tables }) => restoredIndexOf(tables));
    return known.length === 0 ? undefined : Math.max(...known);
  }

  private async recordedHistory(): Promise<RecordedHistory | undefined> {
    if (!this.options.settings.WAYBILL_DATABASE_URL) return undefined;
    const { appliedMark } = await import('@waybill/projection');
    const pool = await this.database();
    return { mark: () => appliedMark(pool) };
  }

  /** Migrates the schema of PostgreSQL. Several processes may do it at once. */
  async migrate(): Promise<void> {
    if (!this.options.settings.WAYBILL_DATABASE_URL) return;
    const { isDamage, isTransientDatabaseError, migrate } = await import('@waybill/projection');
    const url = this.options.settings.WAYBILL_DATABASE_URL;
    await this.step(
      'bringing the schema of PostgreSQL up to date',
      () => migrate(url),
      (error) => isTransientDatabaseError(error) && !isDamage(error),
    );
  }
}

/** Whether NATS is not completely available yet, so that another attempt may succeed. */
const isPassingLogError = (error: unknown): boolean => error instanceof LogUnavailableError && !error.isRefused;
