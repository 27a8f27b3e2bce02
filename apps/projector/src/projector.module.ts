import { Module } from '@nestjs/common';
import type { ServiceContext, ServiceDefinition } from '@waybill/service';
import { NatsAnnouncer } from './announcer.transport.js';
import { NatsEventStream } from './events.transport.js';
import { PostgresStore } from './postgres.store.js';
import { Projector } from './projector.js';

@Module({})
class ProjectorModule {}

function projectorOf(context: ServiceContext): Projector {
  const { link, log, database, clock, timers, logger, metrics } = context;
  const made = new Projector({
    log,
    events: new NatsEventStream(link),
    store: new PostgresStore(database),
    announcer: new NatsAnnouncer(link),
    clock,
    timers,
    logger,
  });
  const gauge = (name: string, help: string, stat: string): void => {
    metrics.gauge(name, help, { collect: () => made.stats()[stat] ?? 0 });
  };
  gauge('projector_applied_index', 'Index that Postgres has reached, while this is the projector', 'applied');
  gauge('projector_backlog', 'Transactions applied and not yet written', 'backlog');
  gauge('projector_lag_ms', 'Age of the last transaction when it was announced', 'lagMs');
  gauge('projector_rows', 'Changed rows written since the start', 'rows');
  gauge('projector_frames', 'Event frames stored since the start', 'frames');
  return made;
}

/** Writes Postgres and EVENTS, under the lease `projector`. */
export const projector: ServiceDefinition = {
  name: 'projector',
  needs: { state: true, database: true },
  build: (context) => ({ module: { module: ProjectorModule }, singleton: projectorOf(context) }),
};
