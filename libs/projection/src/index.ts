export * from './writing/batch.js';
export * from './writing/batch-writer.js';
export { differenceOf, rewindProjection, type Rewound } from './writing/rewind.js';
export { rebuildProjection, type RebuildSource } from './writing/rebuild.js';
export * from './errors.js';
export { migrate, MIGRATION_LOCK_TIMEOUT_MS } from './database/migrate.js';
export { typeOrmSource } from './database/typeorm-source.js';
export { openPool, type PoolOptions } from './database/pool.js';
export { loadSnapshot, PostgresSnapshots } from './feed/snapshot-source.js';
export { recordedMarks, type RecordedMarks } from './history/recorded-marks.js';
export { archiveOf, takeArchive, type TakenArchive } from './take-archive.js';
export { TABLE_LAYOUTS, type Column, type TableLayout } from './writing/table-layout.js';
export type { Namespaces } from './reading/list-query.js';
export type { Page } from './reading/page.js';
export type { JobStatusOptions, JobWithStatus, StatusAllocation } from './reading/job-statuses.js';
export type {
  HostVolumeListOptions,
  VolumeClaimListOptions,
  VolumeListOptions,
  VolumeWithPlugin,
  VolumeReads,
} from './reading/volume-reads.js';
export type {
  AccessReads,
  PolicyListOptions,
  RoleListOptions,
  LoginGrounds,
  TokenGrants,
  WantedGrants,
  TokenListOptions,
} from './reading/access-reads.js';
export type { KeyringReads } from './reading/keyring-reads.js';
export type { VariableListOptions, VariableReads } from './reading/variable-reads.js';
export { FILTER_SCAN_ROWS, type Found, type KeptRows, type Listed, type ListOptions } from './reading/row-reads.js';
export * from './reading/read-model.js';
export { MAX_DRIVER_SCHEMAS } from './reading/decision-reads.js';
export { appliedMark } from './reading/applied-mark.js';
export type { RecordedVerdict } from './reading/recorded-verdict.js';
export { MAX_RETRIED_AT_ONCE, type Retried, type SetAside, SetAsideRows } from './set-aside/retry-set-aside.js';
export { MAX_SHOWN_CHARS, type SetAsidePart, type SetAsideRow } from './set-aside/set-aside-row.js';
export { HistoryRetention, MAX_TRIMMED_TXNS } from './history/history-retention.js';
export { type HashedBlock, type LogDamage, LogHashes, type ScrubStanding } from './history/log-hashes.js';
export {
  type FoundTexts,
  HistoryRedaction,
  type OtherRow,
  type TextReplacement,
  TooManyTextsError,
} from './history/redaction.js';
export { MAX_WALKED_OBJECTS } from './history/object-history.js';
export { inTransaction } from './database/transaction.js';
export * from './history/transaction-log.js';
export * from './feed/announcement.js';
export * from './feed/projection-feed.js';
export { subscribeToAnnouncements, type AnnouncementConnection } from './feed/projection-feed.transport.js';
export * from './reading/watch-keys.js';
export { MAX_WATCHES, TooManyWatchesError, type Watch, Watches } from './reading/watches.js';
export * from './events/event-frame.js';
export { SharedTexts } from './writing/shared-texts.js';
export { eventFloor } from './events/event-floor.js';
export * from './events/event-log.js';
export * from './events/event-window.js';
export { FairTurns } from './events/fair-turns.js';
export { type Interest } from './events/event-routes.js';
export { EventStreamUnavailableError, NatsEventStorage } from './events/event-log.transport.js';
