import type { Call, ServerCommand } from '../command-spec.js';
import { failed } from '../failure.js';
import { LOG_RESTORE_PATH, type LogStatus, lostTable, refusedDecision } from '../operator/log-status.js';
import { readSnapshot } from '../operator/snapshot-file.js';

export const command: ServerCommand = {
  usage: '<file>',
  description:
    'Restores a saved state after the log lost its end. For a log whose beginning was trimmed, which cannot be ' +
    'adopted. Otherwise like `operator log adopt`.\n\nNeeds a management token.',
  flags: [{ name: 'yes', kind: 'switch', help: 'Do not ask.' }],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <file>' },
  withoutNamespace: true,
  run,
};

async function run(call: Call): Promise<number> {
  const { bytes, meta } = await readSnapshot(call.args[0] ?? '');
  const refused = await refusedDecision(call, `Take the cluster back to the saved state of index ${meta.Index}?`);
  if (refused !== undefined) return refused;
  const text = await call.api.putBytes(LOG_RESTORE_PATH, bytes).catch((error: unknown) => {
    throw failed('restoring the log', error);
  });
  const value = JSON.parse(text) as LogStatus;
  call.terminal.print(`The saved state is restored: a new history begins with index ${value.Index ?? 0}.`);
  if (value.Lost.length > 0) call.terminal.print(`${value.LostCount} transactions are lost.\n${lostTable(value)}`);
  return 0;
}
