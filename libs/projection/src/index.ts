export * from './batch.js';
export * from './batch-writer.js';
export * from './errors.js';
export { migrate, MIGRATION_LOCK_TIMEOUT_MS } from './migrate.js';
export { typeOrmSource } from './typeorm-source.js';
export { openPool, type PoolOptions } from './pool.js';
export { loadSnapshot, PostgresSnapshots } from './snapshot-source.js';
export { takeArchive, type TakenArchive } from './take-archive.js';
export { TABLE_LAYOUTS, type Column, type TableLayout } from './table-layout.js';
export type { Namespaces } from './list-query.js';
export type { Page } from './page.js';
export type { JobStatusOptions, JobWithStatus, StatusAllocation } from './job-statuses.js';
export type {
  HostVolumeListOptions,
  VolumeClaimListOptions,
  VolumeListOptions,
  VolumeWithPlugin,
  VolumeReads,
} from './volume-reads.js';
export { FILTER_SCAN_ROWS, type Found, type KeptRows, type Listed, type ListOptions } from './row-reads.js';
export * from './read-model.js';
export { HistoryRetention, MAX_TRIMMED_TXNS } from './history-retention.js';
export { MAX_WALKED_OBJECTS } from './object-history.js';
export { inTransaction } from './transaction.js';
export * from './transaction-log.js';
export * from './announcement.js';
export * from './projection-feed.js';
export { subscribeToAnnouncements, type AnnouncementConnection } from './projection-feed.transport.js';
export * from './watch-keys.js';
export { MAX_WATCHES, TooManyWatchesError, type Watch, Watches } from './watches.js';
export * from './event-frame.js';
export { SharedTexts } from './shared-texts.js';
export { eventFloor } from './event-floor.js';
export * from './event-log.js';
export * from './event-window.js';
export { type Interest } from './event-routes.js';
export { EventStreamUnavailableError, NatsEventStorage } from './event-log.transport.js';
