/** An API process, as clients are told of it: where they expect the servers of a cluster. */
export interface Member {
  /** Of this start of the process. */
  readonly ID: string;
  /** `<name>.<region>`. */
  readonly Name: string;
  readonly Host: string;
  readonly Port: number;
  /** Unix milliseconds. */
  readonly StartedMs: number;
  /** What its readers can see. */
  readonly AppliedIndex: number;
}

/** `ip:port`, as `status/leader` and `status/peers` show it. */
export const addressOf = ({ Host, Port }: Pick<Member, 'Host' | 'Port'>): string => `${Host}:${Port}`;

/**
 * In the order in which they began. No API process leads anything; the first is the one that clients are shown as the
 * leader (API-238), and that answers for the whole cluster where only one may (OP-106).
 */
export const inOrder = (members: readonly Member[]): Member[] =>
  members.toSorted((a, b) => a.StartedMs - b.StartedMs || (a.ID < b.ID ? -1 : 1));

/** The raft configuration of a cluster without one (OP-60, API-238). @param members in order */
export function raftConfigurationOf(members: readonly Member[]): object {
  const servers = members.map((member, at) => ({
    ID: member.ID,
    Node: member.Name,
    Address: addressOf(member),
    Leader: at === 0,
    Voter: true,
    RaftProtocol: RAFT_PROTOCOL,
  }));
  return { Servers: servers, Index: 1 };
}

/** What clients of the reference expect to be told of its consensus. */
export const RAFT_PROTOCOL = '3';
