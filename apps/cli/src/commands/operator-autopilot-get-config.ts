import { NO_ARGUMENTS, type ServerCommand } from '../command-spec.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';
import { failed } from '../failure.js';
import { keyValues } from '../terminal/table.js';

interface AutopilotConfiguration {
  readonly CleanupDeadServers: boolean;
  readonly LastContactThreshold: string;
  readonly MaxTrailingLogs: number;
  readonly MinQuorum: number;
  readonly ServerStabilizationTime: string;
  readonly EnableRedundancyZones: boolean;
  readonly DisableUpgradeMigration: boolean;
  readonly EnableCustomUpgrades: boolean;
}

/** Prints the autopilot settings that the API returns (CL-809, OP-64). */
export const command: ServerCommand = {
  usage: '',
  description:
    "Shows the settings under Nomad's name autopilot. Waybill has no autopilot: leases elect the holders of " +
    'roles.\n\nNeeds the capability operator:read.',
  flags: [{ name: 'stale', kind: 'switch', help: 'Any server may answer.' }, ...DATA_FLAGS],
  takes: NO_ARGUMENTS,
  async run({ api, data, flags, terminal }) {
    const query = { stale: flags.on('stale') || undefined };
    const { value, exact } = await api
      .get<AutopilotConfiguration>('/v1/operator/autopilot/configuration', query)
      .catch((error: unknown) => {
        throw failed('querying Autopilot configuration', error);
      });
    if (data) data(exact);
    else
      terminal.print(
        keyValues([
          ['CleanupDeadServers', String(value.CleanupDeadServers)],
          ['LastContactThreshold', value.LastContactThreshold],
          ['MaxTrailingLogs', String(value.MaxTrailingLogs)],
          ['MinQuorum', String(value.MinQuorum)],
          ['ServerStabilizationTime', value.ServerStabilizationTime],
          ['EnableRedundancyZones', String(value.EnableRedundancyZones)],
          ['DisableUpgradeMigration', String(value.DisableUpgradeMigration)],
          ['EnableCustomUpgrades', String(value.EnableCustomUpgrades)],
        ]),
      );
    return 0;
  },
};
