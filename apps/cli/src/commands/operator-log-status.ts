import { NO_ARGUMENTS, type ServerCommand } from '../command-spec.js';
import { failed } from '../failure.js';
import { type LogStatus, LOG_STATUS_PATH, lostTable, statusText } from '../operator/log-status.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';

/** Exit code if the operator has to decide something. */
const DIVERGED = 1;

export const command: ServerCommand = {
  usage: '',
  description:
    'Compares the log with the transactions that the database and the services have read, and lists the lost ' +
    'ones. Exits with 1 if an operator has to decide: `operator log adopt` or `operator log restore`.\n\nNeeds the ' +
    'capability operator:read.',
  flags: [...DATA_FLAGS],
  takes: NO_ARGUMENTS,
  withoutNamespace: true,
  async run({ api, data, terminal }) {
    const { value, exact } = await api.get<LogStatus>(LOG_STATUS_PATH).catch((error: unknown) => {
      throw failed('reading the state of the log', error);
    });
    if (data) data(exact);
    else {
      terminal.print(statusText(value));
      if (value.Lost.length > 0) terminal.section('Lost transactions');
      if (value.Lost.length > 0) terminal.print(lostTable(value));
    }
    return value.LostCount > 0 || value.Divergence !== '' ? DIVERGED : 0;
  },
};
