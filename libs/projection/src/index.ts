export * from './batch.js';
export * from './batch-writer.js';
export * from './errors.js';
export { dataSource, migrate, MIGRATION_LOCK_TIMEOUT_MS } from './migrate.js';
export { openPool, type PoolOptions } from './pool.js';
export { loadSnapshot, PostgresSnapshots } from './snapshot-source.js';
export { TABLE_LAYOUTS, type Column, type TableLayout } from './table-layout.js';
