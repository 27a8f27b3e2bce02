import { COMPATIBLE_VERSION, WAYBILL_VERSION } from '@waybill/model';
import { addressOf, type Member, RAFT_PROTOCOL } from './member.js';

/** AgentState has the facts about an instance that change while it runs. */
export interface AgentState {
  /** The ID of the agent beside the instance, if there is one. */
  readonly nodeId: string | undefined;
  readonly hasLeader: boolean;
  /** All members, in order. */
  readonly members: readonly Member[];
  readonly appliedIndex: number;
  readonly runtime: Readonly<Record<string, string>>;
}

/** AgentFacts are facts about an API instance that do not change while it runs. */
export interface AgentFacts {
  readonly region: string;
  readonly host: string;
  readonly port: number;
  readonly name: string;
  readonly instanceId: string;
  readonly startedMs: number;
  /** The number of regions, this one included. */
  readonly knownRegions: number;
  readonly hasAccessControl: boolean;
  /** The issuer of identities; empty if none is configured. */
  readonly issuer: string;
}

/** AgentIdentity presents this API instance to clients that expect a server agent (OP-70 to OP-74). */
export class AgentIdentity {
  readonly region: string;
  readonly instanceId: string;

  constructor(private readonly facts: AgentFacts) {
    this.region = facts.region;
    this.instanceId = facts.instanceId;
  }

  /**
   * The address `ip:port`, as `status/leader` and `status/peers` show it. Clients compare it with a member's address.
   */
  get address(): string {
    return addressOf({ Host: this.facts.host, Port: this.facts.port });
  }

  /** Returns this process in the form for other processes. */
  asMember(appliedIndex: number): Member {
    return {
      ID: this.instanceId,
      Name: this.memberName,
      Host: this.facts.host,
      Port: this.facts.port,
      StartedMs: this.facts.startedMs,
      AppliedIndex: appliedIndex,
      Issuer: this.facts.issuer,
    };
  }

  /** @param address the address with or without its port */
  answersTo(address: string): boolean {
    return address === this.address || address === this.facts.host;
  }

  /** Returns the configuration, the member and the figures of this API; every figure is a string (OP-70, OP-73). */
  self({ nodeId, hasLeader, members, appliedIndex, runtime }: AgentState): object {
    const index = String(appliedIndex);
    const [first] = members;
    return {
      config: {
        Name: this.facts.name,
        Region: this.region,
        Datacenter: 'dc1',
        Version: {
          Version: COMPATIBLE_VERSION,
          VersionPrerelease: '',
          VersionMetadata: `waybill.${WAYBILL_VERSION}`,
          Revision: '',
        },
        Server: { Enabled: true },
        Client: { Enabled: nodeId !== undefined },
        ACL: { Enabled: this.facts.hasAccessControl },
        UI: { Enabled: false, ShowCLIHints: false, Label: null },
        Waybill: { TraceURL: '' },
      },
      member: memberOf(this.asMember(appliedIndex), this.region),
      stats: {
        nomad: {
          server: 'true',
          leader: String(hasLeader && first?.ID === this.instanceId),
          leader_addr: hasLeader && first ? addressOf(first) : '',
          bootstrap: 'true',
          known_regions: String(this.facts.knownRegions),
        },
        raft: {
          applied_index: index,
          last_log_index: index,
          commit_index: index,
          state: hasLeader && first?.ID === this.instanceId ? 'Leader' : 'Follower',
          term: '1',
          num_peers: String(members.length - 1),
        },
        runtime,
        ...(nodeId !== undefined && { client: { node_id: nodeId, known_servers: this.address } }),
      },
    };
  }

  members(members: readonly Member[]): object {
    return {
      ServerName: this.facts.name,
      ServerRegion: this.region,
      ServerDC: 'dc1',
      Members: members.map((member) => memberOf(member, this.region)),
    };
  }

  get memberName(): string {
    return `${this.facts.name}.${this.region}`;
  }
}

/** Describes a server as a member with the tags that clients read (OP-71, OP-72). */
function memberOf({ ID, Name, Host, Port }: Member, region: string): object {
  return {
    Name,
    Addr: Host,
    Port,
    Tags: {
      role: 'nomad',
      region,
      dc: 'dc1',
      build: COMPATIBLE_VERSION,
      revision: '',
      vsn: '1',
      raft_vsn: RAFT_PROTOCOL,
      bootstrap: '1',
      id: ID,
      rpc_addr: Host,
      port: String(Port),
    },
    Status: 'alive',
    ProtocolMin: 1,
    ProtocolMax: 5,
    ProtocolCur: 2,
    DelegateMin: 2,
    DelegateMax: 5,
    DelegateCur: 4,
  };
}
