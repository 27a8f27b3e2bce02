import { type Call, NO_ARGUMENTS, type ServerCommand } from '../command-spec.js';
import { failed } from '../failure.js';
import { LOG_ADOPT_PATH, type LogStatus, lostTable, refusedDecision } from '../operator/log-status.js';

export const command: ServerCommand = {
  usage: '',
  description:
    'Accepts a log that lost its end as the truth. The database and the events go back to the end of the log, ' +
    'the indexes of lost transactions are not used again, and a new history starts. Services, machines and ' +
    'clients are notified as after a restore. Lists the lost transactions.\n\nNeeds a management token.',
  flags: [{ name: 'yes', kind: 'switch', help: 'Do not ask.' }],
  takes: NO_ARGUMENTS,
  withoutNamespace: true,
  run,
};

async function run(call: Call): Promise<number> {
  const refused = await refusedDecision(call, 'Adopt the log and give these transactions up?');
  if (refused !== undefined) return refused;
  const { value } = await call.api.put<LogStatus>(LOG_ADOPT_PATH, {}).catch((error: unknown) => {
    throw failed('adopting the log', error);
  });
  call.terminal.print(`The log is adopted: a new history begins with index ${value.Index ?? 0}.`);
  if (value.Lost.length > 0) call.terminal.print(`${value.LostCount} transactions are lost.\n${lostTable(value)}`);
  return 0;
}
