import { CurrentJobs } from './jobs/current-jobs.js';
import { TransactionWriter } from '@waybill/writing';
import type { EventLog, ProjectionFeed, ReadModel } from '@waybill/projection';
import type { Audit } from './audit/audit.js';
import type { Keyring } from '@waybill/keyring';
import type { AccessControl } from './acl/access-control.js';
import type { ServiceContext, TlsIdentity } from '@waybill/service';
import type { RestoreWatch } from './events/restore-watch.js';
import type { Subscriptions } from './events/subscriptions.js';
import { type CallerSource, REMEMBER_MS } from './access/callers.js';
import { CallerWatches } from './access/caller-watch.js';
import { GuardedRoutes } from './access/guarded-routes.js';
import { RecentReads } from './access/recent-reads.js';
import type { RouteGuard } from './access/routes.guard.js';
import { BlockingQueries, type WatchSource } from './http/blocking-query.js';
import { RetryingRpc } from './http/retrying-rpc.js';
import { ResponseCache } from './http/response-cache.js';
import { LogContact } from './http/log-contact.js';
import { Reads } from './http/reads.js';
import type { AdmissionLookup } from './jobs/job-admission.js';
import type { JobLookup } from './jobs/register-job.js';
import { RegionForwarding } from './regions/forwarding.transport.js';
import { Writer } from './writer.js';

/** ApiParts are the parts from which the HTTP server is made. */
export interface ApiParts {
  readonly context: ServiceContext;
  readonly model: ReadModel;
  readonly feed: ProjectionFeed;
  readonly events: EventLog;
  readonly subscriptions: Subscriptions;
  readonly restores: RestoreWatch;
  readonly access: AccessControl;
  /** The certificate, the key and the authorities in the current state of their files. */
  readonly identity: TlsIdentity;
  readonly callers: CallerSource;
  readonly audit: Audit;
  /** The keyring encrypts and decrypts variables, and signs and verifies identities. */
  readonly keyring: Keyring;
}

/** ApiCore has the parts on which the modules of all resources are built. Each module uses what it needs. */
export class ApiCore {
  readonly writer: Writer;
  /** Writes of users. Each is decided here, and its verdict comes from the read model. */
  readonly writes: TransactionWriter;
  readonly jobs: CurrentJobs;
  readonly cache: ResponseCache;
  readonly reads: Reads;
  readonly forwarding: RegionForwarding;
  readonly age: LogContact['age'];
  /** Calls that are retried while a role has no holder (API-39). */
  readonly calls: RetryingRpc;
  /** The rights of callers for as long as their streams are open. */
  readonly watches: CallerWatches;
  /** The needs of each route. */
  readonly routes = new GuardedRoutes();
  private readonly namespaceNames: RecentReads<readonly string[]>;

  constructor(readonly parts: ApiParts) {
    const { context, feed } = parts;
    this.writer = new Writer(context.log, feed, () => context.tracer);
    const { log, clock, newId, settings } = context;
    const { writer, readable } = this;
    this.writes = new TransactionWriter({
      log: writer,
      clock,
      newId,
      region: settings.WAYBILL_REGION,
      caughtUp: readable,
    });
    this.watches = new CallerWatches({ callers: parts.callers, clock, timers: context.timers });
    this.jobs = new CurrentJobs(log, {
      job: (namespace, id) => this.lookup.job(namespace, id),
      applied: () => feed.applied,
      readable,
    });
    this.age = new LogContact(context.link, context.clock).age;
    this.cache = new ResponseCache({
      readPoint: () => this.model.readPoint(),
      announced: (index, timeoutMs) => feed.announced(index, timeoutMs),
      onChangeOf: (watched, run) => feed.onChangeOf(watched, run),
    });
    feed.onChange(['cluster_meta'], () => this.cache.clear()); // also after a restore
    this.reads = new Reads(this.blocking(feed), this.age, this.cache);
    const passed = context.metrics.counter('nomad_rpc_cross_region', 'requests passed on, by region', ['type']);
    this.forwarding = new RegionForwarding(context.regions, {
      passing: (type) => passed.inc({ type }),
      refusing: (region, reason) => context.logger.warn('a request for a region is not passed on', { region, reason }),
      tls: () => parts.identity.current,
      tlsOnly: settings.WAYBILL_TLS_HTTP,
      proveRegion: settings.WAYBILL_TLS_VERIFY_SERVER_HOSTNAME,
    });
    this.calls = new RetryingRpc(context.rpc, context.clock, context.timers);
    this.namespaceNames = new RecentReads({
      most: 1,
      forMs: REMEMBER_MS,
      version: () => this.model.tableIndex('namespaces'),
      clock,
    });
    feed.onChange(['namespaces'], () => this.namespaceNames.clearValues());
  }

  /** Returns the source of callers and of the existing namespaces, against which rights are checked. */
  get guard(): RouteGuard {
    return { callers: this.parts.callers, namespaces: () => this.namespaceNames.of('', this.readNamespaceNames) };
  }

  get context(): ServiceContext {
    return this.parts.context;
  }

  get model(): ReadModel {
    return this.parts.model;
  }

  readonly readable = (index: number): Promise<unknown> => this.writer.readable(index);

  /** Reads of the rows on which writes of jobs depend. */
  get lookup(): JobLookup & AdmissionLookup {
    return this.model.decisions;
  }

  private readonly readNamespaceNames = async (): Promise<readonly string[]> =>
    (await this.model.namespaces({})).rows.map(({ Name }) => Name);

  blocking(source: WatchSource): BlockingQueries {
    const { clock, random, metrics } = this.context;
    const queries = metrics.counter('nomad_rpc_query', 'reads of replicated state');
    return new BlockingQueries(source, clock, random, () => queries.inc());
  }
}
