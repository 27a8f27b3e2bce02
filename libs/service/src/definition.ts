import type { DynamicModule } from '@nestjs/common';
import type { Log, LogHistory, NatsLink } from '@waybill/journal';
import type { Entropy } from '@waybill/keyring';
import type { Singleton } from '@waybill/roles';
import type { Clock, Timers } from '@waybill/model';
import type { Replica } from '@waybill/replica';
import type { CallGuard, Regions, Rpc } from '@waybill/rpc';
import type { Logger, Metrics, MetricsView, Tracer } from '@waybill/telemetry';
import type { Pool } from 'pg';
import type { RecordsRoleEvents } from './role-audit.js';
import type { Settings } from './settings.js';

/** Everything that is I/O, time or chance, which the shell passes to a service. */
export interface ServiceContext {
  readonly name: string;
  readonly settings: Settings;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly tracer: Tracer;
  /** The believed time of day. See `MachineClock`. */
  readonly clock: Clock;
  /**
   * For a machine without access to the log: called before a request to the servers, and its result with their time in
   * unix ms.
   */
  readonly asksTime: () => (unixMs: number) => void;
  readonly timers: Timers;
  readonly newId: () => string;
  /** Returns a random number in [0, 1). */
  readonly random: () => number;
  /** Makes keys and nonces. */
  readonly entropy: Entropy;
  readonly link: NatsLink;
  /** @throws if the definition requested neither state nor database */
  readonly log: Log;
  /** Whether the log is the one that this process knows. @throws like `log` */
  readonly history: LogHistory;
  readonly rpc: Rpc;
  /** Takes what the service does or refuses without a request of a user, for the audit log. */
  readonly audit: RecordsRoleEvents;
  /** This region and its peers. */
  readonly regions: Regions;
  /** The copy of the state, caught up. @throws if the definition did not request it */
  readonly state: Replica;
  /** @throws if the definition did not request it */
  readonly database: Pool;
}

/** A signal to end, from a user at the terminal or from a supervisor. */
export type EndSignal = 'SIGINT' | 'SIGTERM';

/** The parts of a service, built from its context. */
export interface ServiceParts {
  /** The controllers that answer RPC calls, and their providers. */
  readonly module: DynamicModule;
  /** The work that runs under the service's lease, if it has one. */
  readonly singleton?: Singleton;
  /** Set for a service that answers calls to one machine. */
  readonly rpcTarget?: string;
  /**
   * Admits callers to protected calls. By default, a service with a copy of the state checks the rights of the user for
   * whom a call is made.
   */
  readonly guard?: CallGuard;
  /** Starts the service's own work once RPC is answered. */
  readonly start?: () => Promise<void> | void;
  /**
   * Hands over the service's work. Called once, at the first signal to end, while everything still works. A second
   * signal ends the wait for it.
   */
  readonly leave?: (signal: EndSignal) => Promise<void>;
  /**
   * Stops the service: it takes no new work, and finishes or returns its present work. Called before connections close.
   */
  readonly stop?: () => Promise<void> | void;
  /** Reloads files, at SIGHUP and at `/v1/agent/reload`, while the service works on. Errors are logged. */
  readonly reload?: () => Promise<void>;
  /** Milliseconds that `stop` may take in addition to the usual limit. The default is 0. */
  readonly stopTakesMs?: number;
  /**
   * Metrics under the contract's names, computed on request: shown beside the others at `/metrics` of the ops port, and
   * alone at `/v1/metrics` for clients of the contract.
   */
  readonly metrics?: MetricsView;
  /** Returns why the service cannot serve at present, or null. The shell checks connection and state itself. */
  readonly notReady?: () => string | null;
}

/** The declaration of a service in its app. The shell (running-service.ts) does the rest, equally for all services. */
export interface ServiceDefinition {
  readonly name: string;
  readonly needs: {
    /**
     * Whether the service has a copy of the state. A service with only a lease does not need it, because leases have a
     * copy of their own.
     */
    readonly state: boolean;
    /** Whether the service uses PostgreSQL for more than the snapshot with which a copy of the state starts. */
    readonly database: boolean;
  };
  /** Returns one line for each combination of valid settings with which the service does not start. */
  readonly refuses?: (settings: Settings) => readonly string[];
  /**
   * Returns the function that proves this process to NATS at each attempt to connect, or undefined if its key is enough.
   */
  readonly natsProof?: (settings: Settings) => (() => string) | undefined;
  build(context: ServiceContext): Promise<ServiceParts> | ServiceParts;
}
