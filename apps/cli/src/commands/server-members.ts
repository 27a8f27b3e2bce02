import { type Call, NO_ARGUMENTS, type ServerCommand } from '../command-spec.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';
import { VERBOSE_FLAG } from '../terminal/display.js';
import { exactOf } from '../terminal/exact-json.js';
import { causeOf, failed } from '../failure.js';
import { sortedEntries } from '../terminal/sorted-entries.js';
import { table } from '../terminal/table.js';
import { UI_FLAG, webHint } from '../server/web-hint.js';

interface Member {
  readonly Name: string;
  readonly Addr: string;
  readonly Port: number;
  readonly Status: string;
  readonly ProtocolCur: number;
  readonly Tags: Readonly<Record<string, string>>;
}

/** Lists the servers, sorted by name, and marks the leader (CL-931). */
export const command: ServerCommand = {
  usage: '',
  description: 'Lists the servers and marks the leader.\n\nNeeds the capability node:read.',
  flags: [...DATA_FLAGS, VERBOSE_FLAG, { name: 'detailed', kind: 'switch', help: 'The same as -verbose.' }, UI_FLAG],
  takes: NO_ARGUMENTS,
  run,
};

async function run(call: Call): Promise<number> {
  const { api, flags, terminal } = call;
  const { value } = await api
    .get<{ readonly Members: readonly Member[] | null }>('/v1/agent/members')
    .catch((error: unknown) => {
      throw failed('querying servers', error);
    });
  const members = (value.Members ?? []).toSorted((a, b) => (a.Name < b.Name ? -1 : 1));
  const { leaders, trouble } = await leadersOf(call, members);
  const leads = ({ Addr, Tags }: Member) => leaders.has(`${Addr}:${Tags['port'] ?? ''}`);
  if (call.data) {
    const withLeader = members.map((one) => ({ ...one, Tags: { ...one.Tags, Leader: String(leads(one)) } }));
    call.data(exactOf(withLeader));
  } else terminal.print(memberTable(members, leads, flags.on('verbose') || flags.on('detailed')));
  if (trouble === undefined) {
    await webHint(call, 'View and manage servers', '/servers');
    return 0;
  }
  terminal.warn(`Error determining leaders: ${trouble}`);
  return 1;
}

/** Reads the leaders of all regions of the members. */
async function leadersOf(call: Call, members: readonly Member[]): Promise<{ leaders: Set<string>; trouble?: string }> {
  const present = members.filter(({ Status }) => Status !== 'left');
  const regions = [...new Set(present.map(({ Tags }) => Tags['region'] ?? ''))].filter((region) => region !== '');
  const leaders = new Set<string>();
  try {
    for (const region of regions) leaders.add((await call.api.get<string>('/v1/status/leader', { region })).value);
    return { leaders };
  } catch (error) {
    return { leaders, trouble: causeOf(error) };
  }
}

function memberTable(members: readonly Member[], leads: (member: Member) => boolean, verbose: boolean): string {
  const tags = (member: Member) =>
    sortedEntries(member.Tags)
      .map(([key, value]) => `${key}=${value}`)
      .join(',');
  return table([
    [
      'Name',
      'Address',
      'Port',
      'Status',
      'Leader',
      ...(verbose ? ['Protocol'] : []),
      'Raft Version',
      'Build',
      'Datacenter',
      'Region',
      ...(verbose ? ['Tags'] : []),
    ],
    ...members.map((member) => [
      member.Name,
      member.Addr,
      String(member.Port),
      member.Status,
      String(leads(member)),
      ...(verbose ? [String(member.ProtocolCur)] : []),
      member.Tags['raft_vsn'] ?? '',
      member.Tags['build'] ?? '',
      member.Tags['dc'] ?? '',
      member.Tags['region'] ?? '',
      ...(verbose ? [tags(member)] : []),
    ]),
  ]);
}
