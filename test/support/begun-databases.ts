import { chmodSync, mkdtempSync } from 'node:fs';
import path from 'node:path';
import { startPostgres, startStack, type Stack, type StackOptions } from '@waybill/embedded';
import { migrate } from '@waybill/projection';
import { BEGUN_DATABASES } from './begun-databases.setup.js';

const made = new Map<string, Promise<string>>();

/** A stack whose database is empty. */
export const startEmptyStack = async (options: StackOptions = {}): Promise<Stack> =>
  startStack({ ...options, copyOf: await begun('empty', async () => {}) });

/** A stack whose database has the schema already: for tests that prove nothing about how it comes there. */
export const startMigratedStack = async (options: StackOptions = {}): Promise<Stack> =>
  startStack({ ...options, copyOf: await begun('migrated', migrate) });

/**
 * A PostgreSQL that has stopped, made once in each worker: to copy it takes a fifth of what it takes to make one.
 *
 * @returns its directory; undefined outside of the test runner, where nobody would remove it
 */
async function begun(name: string, prepare: (url: string) => Promise<void>): Promise<string | undefined> {
  const parent = process.env[BEGUN_DATABASES];
  if (parent === undefined) return undefined;
  const make = async (): Promise<string> => {
    const dir = mkdtempSync(path.join(parent, `${name}-`));
    chmodSync(dir, 0o711); // root's PostgreSQL stays in it, and goes with it, if its user can pass through
    const server = await startPostgres({ dir, throwaway: true, settings: ['min_wal_size=2MB'] });
    await prepare(server.url);
    await server.stop();
    return dir;
  };
  const making = made.get(name) ?? make();
  made.set(name, making);
  return making;
}
