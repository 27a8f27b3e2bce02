import { type Logger, silentLogger } from '@waybill/telemetry';
import { Client } from 'pg';
import { DatabaseNewerError } from '../errors.js';
import { migrations, MIGRATIONS_TABLE } from '../migrations/index.js';
import { CONNECT_TIMEOUT_MS } from './pool.js';

/** Advisory lock during a migration: "waybill" in ASCII, cut to 32 bits. */
const MIGRATION_LOCK = 0x77617962;
/** Milliseconds that another service may take to migrate. */
export const MIGRATION_LOCK_TIMEOUT_MS = 60_000;

/**
 * Migrates the database to this version's schema. Several services may start at once: they take turns, and all but the
 * first find nothing to do.
 * @throws DatabaseNewerError if a newer version has migrated the database; nothing is changed then
 */
export async function migrate(url: string, logger: Logger = silentLogger): Promise<void> {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    application_name: 'waybill migrate',
  });
  client.on('error', () => {}); // the pending query reports it
  await client.connect();
  try {
    await client.query(`set lock_timeout = ${MIGRATION_LOCK_TIMEOUT_MS}`);
    await client.query('select pg_advisory_lock($1)', [MIGRATION_LOCK]);
    const done = await doneMigrations(client);
    const known = new Set(migrations.map((migration) => migration.name));
    const unknown = done.filter((name) => !known.has(name));
    if (unknown.length > 0) throw new DatabaseNewerError(unknown);
    if (done.length < known.size) await runMigrations(url, logger);
  } finally {
    await client.end().catch(() => {}); // gives the lock back
  }
}

async function doneMigrations(client: Client): Promise<string[]> {
  const table = await client.query<{ found: boolean }>('select to_regclass($1) is not null as found', [
    MIGRATIONS_TABLE,
  ]);
  if (table.rows[0]?.found !== true) return [];
  const done = await client.query<{ name: string }>(`select name from ${MIGRATIONS_TABLE} order by id`);
  return done.rows.map((row) => row.name);
}

/** Loads TypeORM only if there are migrations, because loading it takes as long as the rest of a start. */
async function runMigrations(url: string, logger: Logger): Promise<void> {
  const { dataSource } = await import('./data-source.js');
  const source = await dataSource(url, logger).initialize();
  try {
    await source.runMigrations({ transaction: 'each' });
  } finally {
    await source.destroy();
  }
}
