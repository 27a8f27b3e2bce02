import { connect, type NatsLink, type NatsTlsFiles } from '@waybill/journal';
import type { CancelTimer, Timers } from '@waybill/model';
import {
  type AskOptions,
  type Call,
  NatsRpc,
  NoPathToRegionError,
  type Regions,
  RpcUnavailableError,
} from '@waybill/rpc';
import type { Logger } from '@waybill/telemetry';

/** Pause between attempts to connect to a region for the first time. Later the client reconnects by itself. */
export const CONNECT_AGAIN_MS = 2_000;

export interface PeerRegionsDeps {
  readonly own: string;
  /** URL of NATS by region. The part after `#` is the file with its credentials for other regions. */
  readonly peers: Readonly<Record<string, string>>;
  /** Name of the connection in the NATS of each peer. */
  readonly name: string;
  /** Credentials of this process at every peer. */
  readonly credentialsFile: string;
  /** Files for the verification of each peer's NATS. */
  readonly tls: NatsTlsFiles;
  readonly timers: Timers;
  readonly logger: Logger;
}

/**
 * One connection to the NATS of every peer region, for calls only. Their logs are not followed here.
 *
 * Each is connecting (retried every CONNECT_AGAIN_MS) → up ⇄ down → closed. A call to a region that is not up fails at
 * once. Cost: a connection for each peer and process.
 */
export class PeerRegions implements Regions {
  readonly own: string;
  readonly names: readonly string[];
  private readonly connections: ReadonlyMap<string, PeerConnection>;

  constructor(deps: PeerRegionsDeps) {
    this.own = deps.own;
    const peers = Object.entries(deps.peers).filter(([region]) => region !== deps.own);
    this.connections = new Map(peers.map(([region, url]) => [region, new PeerConnection(region, url, deps)]));
    this.names = [deps.own, ...this.connections.keys()].toSorted();
  }

  async askRegion<Req, Res>(
    region: string,
    call: Call<Req, Res>,
    request: Req,
    options: AskOptions = {},
  ): Promise<Res> {
    const connection = this.connections.get(region);
    if (!connection) throw new NoPathToRegionError(region);
    const { rpc } = connection;
    if (!rpc) throw new RpcUnavailableError(call.name, `not connected to region "${region}"`);
    return rpc.ask(call, request, { ...options, region });
  }

  async close(): Promise<void> {
    await Promise.all([...this.connections.values()].map((connection) => connection.close()));
  }
}

class PeerConnection {
  private connected: { readonly link: NatsLink; readonly rpc: NatsRpc } | undefined;
  private again: CancelTimer | undefined;
  private closed = false;
  private told = false;

  constructor(
    private readonly region: string,
    private readonly url: string,
    private readonly deps: PeerRegionsDeps,
  ) {
    void this.connect();
  }

  /** Undefined while the region cannot be reached. */
  get rpc(): NatsRpc | undefined {
    return this.connected?.link.up ? this.connected.rpc : undefined;
  }

  async close(): Promise<void> {
    this.closed = true;
    this.again?.();
    await this.connected?.link.close();
  }

  private async connect(): Promise<void> {
    const { name, credentialsFile, tls, timers, logger } = this.deps;
    const { region } = this;
    try {
      const [url = '', given] = this.url.split('#');
      const link = await connect({ url, name, credentialsFile: given ?? credentialsFile, tls, firstConnectMs: 0 });
      if (this.closed) return await link.close();
      this.connected = { link, rpc: new NatsRpc(link.nc, link.inboxPrefix) };
      link.onChange((up) => logger.info(up ? 'a region is there again' : 'a region cannot be reached', { region }));
      logger.info('connected to a region', { region });
    } catch (error) {
      if (this.closed) return;
      if (!this.told) logger.warn('a region cannot be reached yet; trying again until it can', { region, error });
      this.told = true;
      this.again = timers.after(CONNECT_AGAIN_MS, () => void this.connect());
    }
  }
}
