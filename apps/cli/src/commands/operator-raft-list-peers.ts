import { NO_ARGUMENTS, type ServerCommand } from '../command-spec.js';
import { failed } from '../failure.js';
import { table } from '../terminal/table.js';

interface RaftConfiguration {
  readonly Servers: readonly {
    readonly ID: string;
    readonly Node: string;
    readonly Address: string;
    readonly Leader: boolean;
    readonly Voter: boolean;
    readonly RaftProtocol: string;
  }[];
}

/** Lists the servers as peers (CL-809). */
export const command: ServerCommand = {
  usage: '',
  description:
    'Lists the servers in the form of consensus peers, for clients that expect them.\n\nNeeds a management token.',
  flags: [{ name: 'stale', kind: 'switch', help: 'Any server may answer.' }],
  takes: NO_ARGUMENTS,
  async run({ api, flags, terminal }) {
    const query = { stale: flags.on('stale') || undefined };
    const { value } = await api
      .get<RaftConfiguration>('/v1/operator/raft/configuration', query)
      .catch((error: unknown) => {
        throw failed('getting peers', error);
      });
    terminal.print(
      table([
        ['Node', 'ID', 'Address', 'State', 'Voter', 'RaftProtocol'],
        ...value.Servers.map((server) => [
          server.Node,
          server.ID,
          server.Address,
          server.Leader ? 'leader' : 'follower',
          String(server.Voter),
          server.RaftProtocol,
        ]),
      ]),
    );
    return 0;
  },
};
