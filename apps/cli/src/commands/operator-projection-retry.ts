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
    'Tries again to store the rows that PostgreSQL refused and that are set aside, as after an upgrade or when a ' +
    'constraint is gone. Those that it refuses again are shown with the reason, and the exit code is 1.' +
    '\n\nNeeds a management token.',
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
