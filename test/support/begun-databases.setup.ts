import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** Names the folder in the environment of each worker. */
export const BEGUN_DATABASES = 'TEST_DATABASES';

/** For a run of the test runner: a folder for databases that tests begin with. @returns how to remove it */
export default function makeFolder(): () => void {
  const folder = mkdtempSync(path.join(tmpdir(), 'waybill-databases-'));
  chmodSync(folder, 0o711); // root's PostgreSQL user passes through
  process.env[BEGUN_DATABASES] = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}
