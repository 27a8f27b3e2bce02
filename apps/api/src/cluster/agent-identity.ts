import { WAYBILL_VERSION } from '@waybill/model';

/** Version of the API that clients may expect. Official clients parse it. */
export const COMPATIBLE_VERSION = '1.10.0';

/** What clients of the reference expect to be told of its consensus. */
const RAFT_PROTOCOL = '3';

/** What an instance knows of itself only when it is asked. */
export interface AgentState {
  /** Of the agent beside it, if there is one. */
  readonly nodeId: string | undefined;
  readonly hasLeader: boolean;
  readonly appliedIndex: number;
  readonly runtime: Readonly<Record<string, string>>;
}

/** How this API instance presents itself to clients that expect a server agent (OP-70 to OP-74). */
export class AgentIdentity {
  constructor(
    readonly region: string,
    private readonly host: string,
    private readonly port: number,
    private readonly name: string,
    readonly instanceId: string,
    /** This one included. */
    private readonly knownRegions: number,
  ) {}

  /** `ip:port`, as `status/leader` and `status/peers` show it. Clients match it with a member's address. */
  get address(): string {
    return `${this.host}:${this.port}`;
  }

  /** @param address with or without its port */
  answersTo(address: string): boolean {
    return address === this.address || address === this.host;
  }

  /** OP-70, OP-73. */
  self({ nodeId, hasLeader, appliedIndex, runtime }: AgentState): object {
    const index = String(appliedIndex);
    return {
      config: {
        Name: this.name,
        Region: this.region,
        Datacenter: 'dc1',
        Version: {
          Version: COMPATIBLE_VERSION,
          VersionPrerelease: '',
          VersionMetadata: `waybill.${WAYBILL_VERSION}`,
          Revision: '',
        },
        Server: { Enabled: true },
        Client: { Enabled: false },
        ACL: { Enabled: false },
        UI: { Enabled: false, ShowCLIHints: false, Label: null },
        Waybill: { TraceURL: '' },
      },
      member: this.member(),
      stats: {
        nomad: {
          server: 'true',
          leader: String(hasLeader),
          leader_addr: hasLeader ? this.address : '',
          bootstrap: 'true',
          known_regions: String(this.knownRegions),
        },
        raft: {
          applied_index: index,
          last_log_index: index,
          commit_index: index,
          state: hasLeader ? 'Leader' : 'Follower',
          term: '1',
          num_peers: '0',
        },
        runtime,
        ...(nodeId !== undefined && { client: { node_id: nodeId, known_servers: this.address } }),
      },
    };
  }

  members(): object {
    return { ServerName: this.name, ServerRegion: this.region, ServerDC: 'dc1', Members: [this.member()] };
  }

  /** The servers as Raft peers (API-238). Of several API instances each knows of itself only. */
  raftConfiguration(): object {
    const server = { ID: this.instanceId, Node: this.memberName, Address: this.address, RaftProtocol: RAFT_PROTOCOL };
    return { Servers: [{ ...server, Leader: true, Voter: true }], Index: 1 };
  }

  get memberName(): string {
    return `${this.name}.${this.region}`;
  }

  private member(): object {
    return {
      Name: this.memberName,
      Addr: this.host,
      Port: this.port,
      Tags: {
        role: 'nomad',
        region: this.region,
        dc: 'dc1',
        build: COMPATIBLE_VERSION,
        revision: '',
        vsn: '1',
        raft_vsn: RAFT_PROTOCOL,
        bootstrap: '1',
        id: this.instanceId,
        rpc_addr: this.host,
        port: String(this.port),
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
}
