import { NO_ARGUMENTS, type ServerCommand } from '../command-spec.js';
import { failed } from '../failure.js';
import type { Flag } from '../flags/flag.js';

/** Flags and the members of the configuration that they set. */
const SETTINGS: readonly (readonly [flag: Flag, member: string])[] = [
  [{ name: 'cleanup-dead-servers', kind: 'switch', help: 'Remove servers that are gone.' }, 'CleanupDeadServers'],
  [
    { name: 'last-contact-threshold', kind: 'text', value: 'duration', help: 'Longest silence of a healthy server.' },
    'LastContactThreshold',
  ],
  [
    { name: 'max-trailing-logs', kind: 'integer', value: 'n', help: 'Largest lag of a healthy server.' },
    'MaxTrailingLogs',
  ],
  [{ name: 'min-quorum', kind: 'integer', value: 'n', help: 'Number of servers that are always kept.' }, 'MinQuorum'],
  [
    {
      name: 'server-stabilization-time',
      kind: 'text',
      value: 'duration',
      help: 'Time for which a new server has to be healthy.',
    },
    'ServerStabilizationTime',
  ],
];

/** Writes the autopilot settings merged with the given flags (CL-809, OP-64). */
export const command: ServerCommand = {
  usage: '',
  description:
    "Requests other settings under Nomad's name autopilot. Waybill has no autopilot and refuses: leases elect " +
    'the holders of roles.\n\nNeeds the capability operator:write.',
  flags: SETTINGS.map(([flag]) => flag),
  takes: NO_ARGUMENTS,
  async run({ api, flags, terminal }) {
    const path = '/v1/operator/autopilot/configuration';
    const given = SETTINGS.filter(([{ name }]) => flags.given(name)).map(([{ name, kind }, member]) => [
      member,
      kind === 'switch' ? flags.on(name) : kind === 'integer' ? (flags.integer(name) ?? 0) : (flags.text(name) ?? ''),
    ]);
    try {
      const { value } = await api.get<Record<string, string | number | boolean>>(path);
      await api.put(path, { ...value, ...Object.fromEntries(given) });
    } catch (error) {
      throw failed('setting Autopilot configuration', error);
    }
    terminal.print('Configuration updated!');
    return 0;
  },
};
