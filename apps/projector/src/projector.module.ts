import { Module } from '@nestjs/common';
import { StreamRetention } from '@waybill/journal';
import { HistoryRetention } from '@waybill/projection';
import type { ServiceContext, ServiceDefinition, Settings } from '@waybill/service';
import { NatsAnnouncer } from './announcer.transport.js';
import { NatsEventStream } from './events.transport.js';
import { PostgresStore } from './postgres.store.js';
import { Projector } from './projector.js';
import { ProjectorRole } from './projector-role.js';
import { Retention, type RetentionPolicy } from './retention.js';

@Module({})
class ProjectorModule {}

function projectorOf(context: ServiceContext): ProjectorRole {
  const { link, log, database, clock, timers, logger, metrics } = context;
  const projector = new Projector({
    log,
    events: new NatsEventStream(link),
    store: new PostgresStore(database),
    announcer: new NatsAnnouncer(link),
    clock,
    timers,
    logger,
  });
  const retention = new Retention({
    policy: policyOf(context.settings),
    streams: new StreamRetention(link),
    history: new HistoryRetention(database),
    clock,
    timers,
    logger,
  });
  const made = new ProjectorRole(projector, retention);
  const gauge = (name: string, help: string, stat: string): void => {
    metrics.gauge(name, help, { collect: () => made.stats()[stat] ?? 0 });
  };
  gauge('projector_applied_index', 'Index that Postgres has reached, while this is the projector', 'applied');
  gauge('projector_backlog', 'Transactions applied and not yet written', 'backlog');
  gauge('projector_lag_ms', 'Age of the last transaction when it was announced', 'lagMs');
  gauge('projector_rows', 'Changed rows written since the start', 'rows');
  gauge('projector_frames', 'Event frames stored since the start', 'frames');
  gauge('projector_log_first_index', 'Oldest transaction that the log keeps, when this trimmed it last', 'logFirst');
  gauge('projector_history_floor', 'Lowest index of which the history is kept', 'historyFloor');
  return made;
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

/** Writes Postgres and EVENTS, under the lease `projector`. */
export const projector: ServiceDefinition = {
  name: 'projector',
  needs: { state: false, database: true },
  build: (context) => ({ module: { module: ProjectorModule }, singleton: projectorOf(context) }),
};
