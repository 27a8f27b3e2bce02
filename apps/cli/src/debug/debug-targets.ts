import type { NodeListStub } from '@waybill/model';
import type { ApiClient } from '../server/api-client.js';
import { CommandFailure, failed } from '../failure.js';
import type { DebugOptions } from './debug-options.js';

interface Member {
  readonly Name: string;
  readonly Addr: string;
  readonly Tags: Readonly<Record<string, string>>;
}

/** Nodes and servers whose logs are captured. */
export interface DebugTargets {
  readonly nodes: readonly Pick<NodeListStub, 'ID' | 'Name'>[];
  /** Number of nodes without the limit -max-nodes. */
  readonly nodesFound: number;
  readonly servers: readonly string[];
  readonly serversFound: number;
}

/** @throws CommandFailure if a given node or server does not exist */
export async function debugTargets(api: ApiClient, options: DebugOptions): Promise<DebugTargets> {
  const { nodes: prefixes, nodeClass, maxNodes, servers: names } = options;
  const { value: stubs } = await api.get<NodeListStub[] | null>('/v1/nodes').catch((error: unknown) => {
    throw failed('querying node info', error);
  });
  const found = (stubs ?? []).filter(
    ({ ID, NodeClass }) =>
      (prefixes.length === 0 || prefixes.some((prefix) => ID.startsWith(prefix.toLowerCase()))) &&
      (nodeClass === undefined || NodeClass === nodeClass),
  );
  if (found.length === 0 && prefixes.length > 0)
    throw new CommandFailure(`No node(s) with prefix or ID "${prefixes.join(',')}" found`);
  const members = await api.get<{ readonly Members: readonly Member[] | null }>('/v1/agent/members').catch((error) => {
    throw failed('querying servers', error);
  });
  const all = members.value.Members ?? [];
  const leader = names.includes('leader') ? (await api.get<string>('/v1/status/leader')).value : undefined;
  const servers = all.filter(
    ({ Name, Addr, Tags }) =>
      names.length === 0 ||
      `${Addr}:${Tags['port'] ?? ''}` === leader ||
      names.some((name) => name !== 'leader' && Name.startsWith(name)),
  );
  if (servers.length === 0 && names.length > 0)
    throw new CommandFailure(`No server(s) with name or prefix "${names.join(',')}" found`);
  return {
    nodes: maxNodes === 0 ? found : found.slice(0, maxNodes),
    nodesFound: found.length,
    servers: servers.map(({ Name }) => Name),
    serversFound: all.length,
  };
}
