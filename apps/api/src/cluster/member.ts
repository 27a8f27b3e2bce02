/** Member is an API process as clients see it, in the place of the servers of a cluster. */
export interface Member {
  /** The ID of this start of the process. */
  readonly ID: string;
  /** The name `<name>.<region>`. */
  readonly Name: string;
  readonly Host: string;
  readonly Port: number;
  /** The time of the start in Unix milliseconds. */
  readonly StartedMs: number;
  /** The index up to which its reads can see. */
  readonly AppliedIndex: number;
  /** The issuer that it names in identities; empty if it names none. Absent in members of earlier builds. */
  readonly Issuer?: string;
}

/** Returns the address `ip:port`, as `status/leader` and `status/peers` show it. */
export const addressOf = ({ Host, Port }: Pick<Member, 'Host' | 'Port'>): string => `${Host}:${Port}`;

/**
 * Orders members by their start. No API process leads anything. Clients see the first one as the leader (API-238), and
 * it answers for the whole cluster where only one process may (OP-106).
 */
export const inOrder = (members: readonly Member[]): Member[] =>
  members.toSorted((a, b) => a.StartedMs - b.StartedMs || (a.ID < b.ID ? -1 : 1));

/**
 * Returns a text about members that name another issuer than this one, although all must name the same (AU-182). The
 * result is undefined if there are none.
 */
export function issuerProblem(own: Member, members: readonly Member[]): string | undefined {
  const [other] = members.filter(({ Issuer }) => Issuer !== undefined && Issuer !== own.Issuer);
  if (!other) return undefined;
  const [theirs, ours] = [other.Issuer, own.Issuer].map((issuer) => JSON.stringify(issuer));
  return (
    `WAYBILL_OIDC_ISSUER is ${ours} here and ${theirs} at the API ${addressOf(other)}: ` +
    'tokens and discovery documents name different issuers. Set the same for all'
  );
}

/** Returns the raft configuration for a cluster without raft (OP-60, API-238). @param members the members in order */
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

/** The version of the consensus protocol that clients of the reference expect. */
export const RAFT_PROTOCOL = '3';
