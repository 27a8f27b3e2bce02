import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it, type TestContext } from 'vitest';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

/** The published client for Python, as its registry has it. */
const PACKAGE = 'python-nomad==2.1.0';
const PROGRAM = fileURLToPath(new URL('./python_client.py', import.meta.url));
const INSTALL_TIMEOUT_MS = 90_000;

const run = promisify(execFile);
const packages = mkdtempSync(path.join(tmpdir(), 'waybill-python-'));
/** Why there is no such client here; undefined: there is. */
let missing: string | undefined;
let waybill: WaybillProcesses | undefined;

beforeAll(async () => {
  const install = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--target', packages, PACKAGE];
  try {
    await run('python3', install, { timeout: INSTALL_TIMEOUT_MS });
  } catch (error) {
    missing = `${PACKAGE} cannot be installed: ${error instanceof Error ? error.message.split('\n')[0] : String(error)}`;
    return;
  }
  waybill = await WaybillProcesses.startTogether();
  const { api } = waybill;
  await eventually('the machine is ready', async () =>
    (await api.get<{ Status: string }[]>('/v1/nodes')).some(({ Status }) => Status === 'ready'),
  );
}, 2 * INSTALL_TIMEOUT_MS);
afterAll(async () => {
  await waybill?.stop();
  rmSync(packages, { recursive: true, force: true });
});

it('API-550: python-nomad registers, reads, waits, dispatches, scales, plans, searches, hears events and stops', async (ctx: TestContext) => {
  if (!waybill) return ctx.skip(missing);
  const port = new URL(waybill.api.url).port;
  const { stdout } = await run('python3', [PROGRAM, port], { env: { ...process.env, PYTHONPATH: packages } });
  expect(stdout.trim().split('\n')).toEqual([
    'registers_and_reads',
    'follows_evaluations_and_deployments',
    'waits_for_changes',
    'reverts',
    'dispatches',
    'scales',
    'reads_logs',
    'plans_and_parses',
    'knows_what_is_not_there',
    'makes_namespaces',
    'looks_at_machines',
    'searches',
    'hears_events',
    'stops',
  ]);
});
