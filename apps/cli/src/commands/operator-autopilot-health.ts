import { AnswerFailure } from '../server/api-failure.js';
import type { ApiClient } from '../server/api-client.js';
import { NO_ARGUMENTS, type ServerCommand } from '../command-spec.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';
import { type ExactJson, parseExact } from '../terminal/exact-json.js';
import { failed } from '../failure.js';
import { keyValues, table } from '../terminal/table.js';
import { absoluteTime } from '../terminal/times.js';

interface ServerHealth {
  readonly ID: string;
  readonly Name: string;
  readonly Address: string;
  readonly SerfStatus: string;
  readonly Version: string;
  readonly Leader: boolean;
  readonly Voter: boolean;
  readonly Healthy: boolean;
  readonly LastContact: string;
  readonly LastTerm: number;
  readonly LastIndex: number;
  readonly StableSince: string;
}
interface AutopilotHealth {
  readonly Healthy: boolean;
  readonly FailureTolerance: number;
  readonly Leader: string;
  readonly Voters: readonly string[];
  readonly Servers: readonly ServerHealth[];
}

/** Status of the response if the servers are unhealthy. Its body has the same form (OP-65). */
const UNWELL = 429;

/** Prints the health of the servers and the number that may fail (CL-809, OP-65). */
export const command: ServerCommand = {
  usage: '',
  description: 'Shows whether the servers are healthy, and how many may fail.\n\nNeeds the capability operator:read.',
  flags: [...DATA_FLAGS],
  takes: NO_ARGUMENTS,
  async run({ api, data, terminal }) {
    const { value, exact } = await readHealth(api).catch((error: unknown) => {
      throw failed('querying Autopilot health', error);
    });
    if (data) data(exact);
    else {
      terminal.print(
        keyValues([
          ['Healthy', String(value.Healthy)],
          ['FailureTolerance', String(value.FailureTolerance)],
          ['Leader', value.Leader],
          ['Voters', value.Voters.join(',')],
        ]),
      );
      terminal.section('Servers');
      terminal.print(serverTable(value.Servers));
    }
    return 0;
  },
};

async function readHealth(api: ApiClient): Promise<{ readonly value: AutopilotHealth; readonly exact: ExactJson }> {
  try {
    return await api.get<AutopilotHealth>('/v1/operator/autopilot/health');
  } catch (error) {
    if (!(error instanceof AnswerFailure && error.status === UNWELL)) throw error;
    return { value: JSON.parse(error.text) as AutopilotHealth, exact: parseExact(error.text) };
  }
}

const serverTable = (servers: readonly ServerHealth[]): string =>
  table([
    ['ID', 'Name', 'Address', 'Status', 'Version', 'Leader', 'Voter', 'Healthy', 'Contact', 'Term', 'Index', 'Since'],
    ...servers.map((server) => [
      server.ID,
      server.Name,
      server.Address,
      server.SerfStatus,
      server.Version,
      String(server.Leader),
      String(server.Voter),
      String(server.Healthy),
      server.LastContact,
      String(server.LastTerm),
      String(server.LastIndex),
      absoluteTime(server.StableSince),
    ]),
  ]);
