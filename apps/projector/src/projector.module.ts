import { Module } from '@nestjs/common';
import { type NatsLink, RawLog, StreamRetention } from '@waybill/journal';
import { monotonicClock } from '@waybill/roles';
import { msFromNs } from '@waybill/model';
import { eventFloor, HistoryRetention, LogHashes, NatsEventStorage, takeArchive } from '@waybill/projection';
import type { ServiceContext, ServiceDefinition, Settings } from '@waybill/service';
import { DirectoryShelf } from './archive-shelf.store.js';
import { Archiving } from './archiving.js';
import { applyTimers } from './apply-timers.js';
import { NatsAnnouncer } from './announcer.transport.js';
import { NatsEventStream } from './events.transport.js';
import { PostgresStore } from './postgres.store.js';
import { BATCH_INTERVAL_MS, Projector } from './projector.js';
import { ProjectorRole } from './projector-role.js';
import { Retention, type RetentionPolicy, type TrimmedStreams } from './retention.js';
import { Scrubber } from './scrubbing/scrubber.js';

@Module({})
class ProjectorModule {}

function projectorOf(context: ServiceContext): ProjectorRole {
  const { link, log, history, database, clock, timers, logger, metrics } = context;
  const projector = new Projector({
    log,
    events: new NatsEventStream(link),
    store: new PostgresStore(database),
    announcer: new NatsAnnouncer(link),
    clock,
    timers,
    logger,
    onDiverged: (error) => history.reportDivergence(error),
    onErasure: () => retention.checkNow(),
    batchIntervalMs: BATCH_INTERVAL_MS,
    metered: applyTimers(metrics, monotonicClock),
  });
  const archiving = archivingOf(context);
  const retention = new Retention({
    policy: policyOf(context.settings),
    ...(archiving && { archives: archiving }),
    streams: trimmedStreams(link),
    history: new HistoryRetention(database),
    clock,
    timers,
    logger,
  });
  const made = new ProjectorRole(projector, retention, archiving, scrubberOf(context));
  const gauge = (name: string, help: string, stat: string): void => {
    metrics.gauge(name, help, { collect: () => made.stats()[stat] ?? 0 });
  };
  gauge('projector_applied_index', 'Index that Postgres has reached, while this is the projector', 'applied');
  gauge('projector_backlog', 'Transactions applied and not yet written', 'backlog');
  gauge('projector_lag_ms', 'Age of the last transaction when it was announced', 'lagMs');
  gauge('projector_rows', 'Changed rows written since the start', 'rows');
  gauge('projector_frames', 'Event frames stored since the start', 'frames');
  gauge('projector_lost_frames', 'Indexes whose frames EVENTS lost and that cannot be made again', 'lostFrames');
  gauge('projection_set_aside', 'Rows that Postgres refused to store and that are kept aside', 'setAside');
  gauge('projector_log_first_index', 'Oldest transaction that the log keeps, when this trimmed it last', 'logFirst');
  gauge('projector_history_floor', 'Lowest index of which the history is kept', 'historyFloor');
  gauge('projector_archive_index', 'Index of the newest archive, if archives are put away', 'archiveIndex');
  gauge(
    'log_scrubbed_index',
    'How far the log was read again, in this pass or the one that ended last',
    'scrubbedIndex',
  );
  metrics.gauge('log_damaged', 'Transactions that NATS cannot read, and blocks of 1,024 that differ from before', {
    labels: ['kind'],
    collectInto: (damaged) => {
      const { logUnreadable = 0, logChangedBlocks = 0 } = made.stats();
      damaged.set({ kind: 'unreadable' }, logUnreadable);
      damaged.set({ kind: 'changed' }, logChangedBlocks);
    },
  });
  const counted = (name: string, help: string, stat: string): void => {
    metrics.counted(name, help, () => made.stats()[stat] ?? 0, { projection: 'postgres' });
  };
  counted('nomad_waybill_log_apply_errors', 'Attempts to project that failed and are made again', 'applyErrors');
  counted('projection_replaced_frames', 'Frames that EVENTS could not take: others stand for them', 'replacedFrames');
  counted('nomad_waybill_log_redelivered', 'Transactions read again for what was not written before', 'redelivered');
  metrics.counted('log_scrub_passes', 'Passes over the whole log, since the database was made', () => {
    return made.stats()['scrubPasses'] ?? 0;
  });
  return made;
}

function trimmedStreams(link: NatsLink): TrimmedStreams {
  const streams = new StreamRetention(link);
  const events = new NatsEventStorage(link.nc, link.inboxPrefix);
  return {
    firstIndex: () => streams.firstIndex(),
    trimLog: (below) => streams.trimLog(below),
    trimArchives: () => streams.trimArchives(),
    limitEvents: (limits) => streams.limitEvents(limits),
    removeEventsBelow: (index) => events.removeBelow(index),
  };
}

/** Returns the archiving of the state (OP-49), or undefined if no directory is configured. */
function archivingOf({
  settings,
  database,
  link,
  newId,
  clock,
  timers,
  logger,
}: ServiceContext): Archiving | undefined {
  if (settings.WAYBILL_ARCHIVE_DIR === '') return undefined;
  const events = new NatsEventStorage(link.nc, link.inboxPrefix);
  return new Archiving({
    intervalMs: msFromNs(settings.WAYBILL_ARCHIVE_INTERVAL),
    keep: settings.WAYBILL_ARCHIVE_KEEP,
    shelf: new DirectoryShelf(settings.WAYBILL_ARCHIVE_DIR),
    take: () => takeArchive(database, (index) => eventFloor(events, index), newId()),
    clock,
    timers,
    logger,
  });
}

/** Returns the scrubber, or undefined if the rate is 0. */
function scrubberOf(context: ServiceContext): Scrubber | undefined {
  const { settings, link, history, database, clock, timers, logger } = context;
  const bytesPerSecond = settings.WAYBILL_LOG_SCRUB_RATE * BYTES_PER_MB;
  if (bytesPerSecond === 0) return undefined;
  return new Scrubber({
    log: new RawLog(link),
    memory: new LogHashes(database),
    bytesPerSecond,
    intervalMs: msFromNs(settings.WAYBILL_LOG_SCRUB_INTERVAL),
    isSameLog: () => history.isSame(),
    clock,
    monotonic: monotonicClock,
    timers,
    logger,
  });
}

function policyOf(settings: Settings): RetentionPolicy {
  return {
    logMs: settings.WAYBILL_LOG_RETENTION_HOURS * MS_PER_HOUR,
    logIndexes: settings.WAYBILL_LOG_RETENTION_INDEXES,
    historyMs: settings.WAYBILL_HISTORY_RETENTION_HOURS * MS_PER_HOUR,
    eventsMs: settings.WAYBILL_EVENT_RETENTION_HOURS * MS_PER_HOUR,
    eventFrames: settings.WAYBILL_EVENT_RETENTION_INDEXES,
  };
}

const MS_PER_HOUR = 3_600_000;
const BYTES_PER_MB = 1_000_000;

/** projector is the service that writes Postgres and EVENTS under the lease `projector`. */
export const projector: ServiceDefinition = {
  name: 'projector',
  needs: { state: false, database: true },
  build: (context) => ({ module: { module: ProjectorModule }, singleton: projectorOf(context) }),
};
