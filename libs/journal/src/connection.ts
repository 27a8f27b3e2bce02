import { connect as natsConnect } from '@nats-io/transport-node';
import { natsTls, type NatsTlsFiles } from './nats-tls.js';
import type { Authenticator, NatsConnection } from '@nats-io/transport-node';
import { inboxPrefixOf, readCredentials } from './credentials.js';
import { LogUnavailableError } from './errors.js';
import { type ConnectionProof, proofAuthenticator } from './proof-authenticator.js';

/** Pause between two attempts to reconnect, milliseconds: short, so that a restarted server is found quickly. */
export const RECONNECT_WAIT_MS = 100;
/** Interval between pings, milliseconds. After two unanswered pings the connection counts as lost and is made anew. */
export const PING_INTERVAL_MS = 5_000;
export const MAX_PINGS_OUT = 2;
/** Longest wait for the first connection, milliseconds. */
export const FIRST_CONNECT_MS = 5_000;

export interface ConnectOptions {
  /** One or more server addresses, separated by commas. */
  readonly url: string;
  /** Shown by the server in its list of connections. */
  readonly name: string;
  /** See readCredentials; absent or empty: no credentials. */
  readonly credentialsFile?: string | undefined;
  readonly proof?: ConnectionProof | undefined;
  /** How the server's identity is checked, for addresses that begin with `tls://`. */
  readonly tls?: NatsTlsFiles | undefined;
  readonly firstConnectMs?: number;
}

/** Prefix of reply subjects on a connection without credentials. */
export const COMMON_INBOX_PREFIX = '_INBOX';

/**
 * One connection to NATS, which reconnects for ever, and whether it is up.
 *
 * Modes: up ⇄ down → closed. While down, nothing is sent: the client's buffer could be sent long after the caller was
 * told that its request failed.
 */
export class NatsLink {
  private isUp = true;
  private isClosed = false;
  private readonly listeners = new Set<(up: boolean) => void>();

  constructor(
    readonly nc: NatsConnection,
    /** Prefix of every subject on which this connection awaits replies. */
    readonly inboxPrefix = COMMON_INBOX_PREFIX,
  ) {
    void this.watch();
    void nc.closed().then(() => {
      this.isClosed = true;
      this.setIsUp(false);
    });
  }

  get up(): boolean {
    return this.isUp;
  }

  get closed(): boolean {
    return this.isClosed;
  }

  /** Calls `listener` at each change. @returns unsubscribe */
  onChange(listener: (up: boolean) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Resolves true once up, false after `timeoutMs` or when closed. */
  waitUp(timeoutMs: number): Promise<boolean> {
    if (this.isUp) return Promise.resolve(true);
    if (this.isClosed || timeoutMs <= 0) return Promise.resolve(false);
    return new Promise((resolve) => {
      const done = (up: boolean): void => {
        clearTimeout(timer);
        off();
        resolve(up);
      };
      const timer = setTimeout(() => done(false), timeoutMs);
      const off = this.onChange((up) => {
        if (up || this.isClosed) done(up);
      });
    });
  }

  /** Sends the buffered messages and closes. */
  async close(): Promise<void> {
    if (this.isClosed) return;
    // A drain waits for the server, so it is skipped while the server is unreachable.
    if (this.isUp) await this.nc.drain().catch(() => this.nc.close());
    else await this.nc.close();
  }

  private async watch(): Promise<void> {
    for await (const status of this.nc.status()) {
      if (status.type === 'disconnect') this.setIsUp(false);
      else if (status.type === 'reconnect') this.setIsUp(true);
    }
  }

  private setIsUp(up: boolean): void {
    if (up === this.isUp && !this.isClosed) return;
    this.isUp = up;
    for (const listener of this.listeners) listener(up);
  }
}

/**
 * Connects to NATS. The first connection may take `firstConnectMs`; after later interruptions it reconnects for ever.
 * @throws LogUnavailableError, CredentialsError
 */
export async function connect(options: ConnectOptions): Promise<NatsLink> {
  const servers = options.url.split(',').map((s) => s.trim());
  const credentials = options.credentialsFile ? await readCredentials(options.credentialsFile) : undefined;
  const tls = natsTls(servers, options.tls);
  const inboxPrefix = credentials ? inboxPrefixOf(credentials.publicKey) : COMMON_INBOX_PREFIX;
  const until = performance.now() + (options.firstConnectMs ?? FIRST_CONNECT_MS);
  for (;;) {
    try {
      return new NatsLink(
        await natsConnect({
          servers,
          name: options.name,
          ...(credentials && { authenticator: authenticators(credentials.authenticator, options.proof) }),
          ...(tls && { tls }),
          inboxPrefix,
          ignoreAuthErrorAbort: true, // a server whose list of users is being changed may refuse us for a moment
          maxReconnectAttempts: -1,
          reconnectTimeWait: RECONNECT_WAIT_MS,
          reconnectJitter: RECONNECT_WAIT_MS / 2,
          pingInterval: PING_INTERVAL_MS,
          maxPingOut: MAX_PINGS_OUT,
          timeout: 2_000,
          noAsyncTraces: true,
        }),
        inboxPrefix,
      );
    } catch (e) {
      if (performance.now() >= until)
        throw new LogUnavailableError(`cannot connect to NATS at ${withoutPassword(options.url)}`, { cause: e });
      await new Promise((resolve) => setTimeout(resolve, RECONNECT_WAIT_MS));
    }
  }
}

const authenticators = (key: Authenticator, proof: ConnectionProof | undefined): Authenticator[] =>
  proof ? [key, proofAuthenticator(proof)] : [key];

const withoutPassword = (url: string): string => url.replaceAll(/\/\/[^/@]*@/g, '//');
