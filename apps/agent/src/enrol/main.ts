import { userKey } from '@waybill/journal';
import { machineUser } from '@waybill/rpc';
import { EXIT_CONFIGURATION, newUuid, readSettings, SettingsError } from '@waybill/service';
import { loadIdentity } from '../machine/identity/identity.store.js';
import { ownDirectory } from '../paths/path-name.js';

/**
 * Prepares a machine before its first start. It makes its id and its NATS key if they are missing, and prints the line
 * that admits it (docs/security.md). The secrets of both stay in the machine's files.
 */
async function enrol(env: NodeJS.ProcessEnv): Promise<string> {
  const settings = readSettings(env, ['WAYBILL_NATS_CREDENTIALS']);
  const { nodeId } = await loadIdentity(ownDirectory(settings.WAYBILL_AGENT_DIR), newUuid);
  const key = await userKey(settings.WAYBILL_NATS_CREDENTIALS);
  return JSON.stringify(machineUser(key, nodeId));
}

try {
  process.stdout.write(`${await enrol(process.env)}\n`);
} catch (error) {
  const problems = error instanceof SettingsError ? error.problems : [String(error)];
  for (const problem of problems) process.stderr.write(`waybill enrol: ${problem}\n`);
  process.exitCode = EXIT_CONFIGURATION;
}
