import { NO_ARGUMENTS, type ServerCommand } from '../command-spec.js';
import { failed } from '../failure.js';
import { PROJECTION_PATH, readStanding, setAsideTable } from '../operator/set-aside-rows.js';

/** Response of the retry. */
interface Retried {
  readonly Stored: number;
  readonly Left: number;
}

export const command: ServerCommand = {
  usage: '',
  description:
    'Retries to store the rows that PostgreSQL refused and that are set aside, for example after an upgrade or ' +
    'after a constraint was dropped. Lists the rows that PostgreSQL refuses again, with the reason, and then ' +
    'exits with 1.\n\nNeeds a management token.',
  flags: [],
  takes: NO_ARGUMENTS,
  withoutNamespace: true,
  async run({ api, terminal }) {
    const { value } = await api.put<Retried>(`${PROJECTION_PATH}/retry`, {}).catch((error: unknown) => {
      throw failed('retrying the projection', error);
    });
    terminal.print(`${value.Stored} stored, ${value.Left} still set aside`);
    if (value.Left === 0) return 0;
    terminal.print(`\n${setAsideTable(await readStanding(api))}`);
    return 1;
  },
};
