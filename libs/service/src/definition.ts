import type { DynamicModule } from '@nestjs/common';
import type { Log, LogHistory, NatsLink } from '@waybill/journal';
import type { Singleton } from '@waybill/roles';
import type { Clock, Timers } from '@waybill/model';
import type { Replica } from '@waybill/replica';
import type { Regions, Rpc } from '@waybill/rpc';
import type { Logger, Metrics, MetricsView, Tracer } from '@waybill/telemetry';
import type { Pool } from 'pg';
import type { Settings } from './settings.js';

/** What the shell hands to a service: everything that is I/O, time or chance. */
export interface ServiceContext {
  readonly name: string;
  readonly settings: Settings;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly tracer: Tracer;
  /** The time of day as far as it is believed; see `MachineClock`. */
  readonly clock: Clock;
  /** For a machine that has no part in the log: to be called before servers are asked, and the result with their time, unix ms. */
  readonly asksTime: () => (unixMs: number) => void;
  readonly timers: Timers;
  readonly newId: () => string;
  /** In [0, 1). */
  readonly random: () => number;
  readonly link: NatsLink;
  /** @throws if the definition asked for neither state nor database */
  readonly log: Log;
  /** Whether the log is the one that this process knows. @throws as `log` */
  readonly history: LogHistory;
  readonly rpc: Rpc;
  /** This region and its peers. */
  readonly regions: Regions;
  /** The copy of the state, caught up. @throws if the definition did not ask for it */
  readonly state: Replica;
  /** @throws if the definition did not ask for it */
  readonly database: Pool;
}

/** What asks a process to end: a person at the terminal, or whoever supervises it. */
export type EndSignal = 'SIGINT' | 'SIGTERM';

/** What a service is made of, once it has its context. */
export interface ServiceParts {
  /** Controllers with the answers to RPC calls, and what they need. */
  readonly module: DynamicModule;
  /** What runs under this service's lease, if it has one. */
  readonly singleton?: Singleton;
  /** For a service that answers calls to one machine. */
  readonly rpcTarget?: string;
  /** Begins the service's own work, after RPC is answered. */
  readonly start?: () => Promise<void> | void;
  /**
   * Once, at the first signal to end, while everything still works: hands its work over to others. It ends by itself; at
   * a second signal nobody waits for it any more.
   */
  readonly leave?: (signal: EndSignal) => Promise<void>;
  /** Ends it: takes no new work, finishes or hands back what it has. Called before connections close. */
  readonly stop?: () => Promise<void> | void;
  /** At SIGHUP and at `/v1/agent/reload`: reads its files anew, while everything goes on. What is wrong with them is logged. */
  readonly reload?: () => Promise<void>;
  /** How long `stop` may take, in milliseconds, beside what the end of any service may; default 0. */
  readonly stopTakesMs?: number;
  /**
   * Metrics under the contract's names that are not kept but made when somebody looks: shown at `/metrics` of the ops port
   * beside the others, and alone at `/v1/metrics`, as clients of the contract ask for them.
   */
  readonly metrics?: MetricsView;
  /** Why the service cannot serve just now; null: it can. Beside connection and state, which the shell checks. */
  readonly notReady?: () => string | null;
}

/** A service, as its app declares it. The shell (running-service.ts) does the rest, the same for all. */
export interface ServiceDefinition {
  readonly name: string;
  readonly needs: {
    /** Its own copy of the state. A service that only has a lease does without: leases have a copy of their own. */
    readonly state: boolean;
    /** Postgres beyond the snapshot a copy of the state starts from. */
    readonly database: boolean;
  };
  /** What it does not start with, though each setting is right by itself: one line for each problem. */
  readonly refuses?: (settings: Settings) => readonly string[];
  build(context: ServiceContext): Promise<ServiceParts> | ServiceParts;
}
