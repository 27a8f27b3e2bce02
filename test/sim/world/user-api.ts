import { TransactionWriter } from '@waybill/writing';
import {
  BrokerInquiry,
  DeregisterEverywhere,
  DeregisterJob,
  type DeregisterOptions,
  DispatchJob,
  EvaluateJob,
  type EvaluateOptions,
  ForceLaunch,
  RetryingRpc,
  JobAdmission,
  type JobLookup,
  PlanJob,
  RegionJobs,
  RegisterEverywhere,
  RegisterJob,
  type RegisterJobRequest,
  Requester,
  RestoreSnapshot,
  ResumedRoles,
  RevertJob,
  SetSchedulerConfiguration,
  StopAllocation,
  type StopAllocationOptions,
  Writer,
  CurrentJobs,
  EVERYBODY,
  type GivenVariable,
  ofVariable,
  RequestAccess,
  type VariableAnswer,
  type VariableOperation,
  Variables,
  variableWrite,
} from '@waybill/api';
import type { Job, SchedulerConfiguration } from '@waybill/model';
import { ProjectionFeed } from '@waybill/projection';
import { apiAddress, type AskOptions, type Call, EVERYBODY_CALLS, type OnBehalfOf, UserRpc } from '@waybill/rpc';
import type { ServiceContext } from '@waybill/service';
import { type Actor, fixtures } from '@waybill/state';
import type { SimulatedProcess } from '../kernel/simulated-process.js';
import type { ArchivesOfProcess } from './archive-store.js';
import { type Items, PLAIN_KEYRING, PLAIN_ROOT_KEY } from './plain-keyring.js';
import { openPlainArchive } from './plain-archive.js';
import type { KeyringApi } from './keyring-api.js';
import type { ReadingApi } from './reading-api.js';
import type { DatabaseConnection, SavedArchive } from './simulated-postgres.js';

const NAMESPACE = 'default';
/** Its namespaces limit nothing, so that nothing is asked of the database for it. */
/** Whether a place exists is decided where a job is written. */
const NO_LIMITS = {
  namespace: async (Name: string) => ({ ...fixtures.aNamespace(), Name }),
  nodePool: async (Name: string) => ({ ...fixtures.aNodePool(), Name }),
  schedulerConfiguration: async () => undefined,
};
/** Who may do everything. */
const ANYTHING = new RequestAccess(EVERYBODY, ofVariable('write'), NAMESPACE, async () => []);
type WritingOperation = Exclude<VariableOperation, { readonly op: 'lock-renew' }>;
const USER: Actor = { Kind: 'anonymous', ID: '', Name: 'anonymous' };

/** Index of the transaction that a write is in, as the answer says; 0: what was asked writes nothing itself. */
export interface Written {
  readonly Index: number;
}

/** The API's writes in one server, and what it answers other regions: the use cases themselves, over a simulated log and database. HTTP is left out. */
export class UserApi {
  readonly feed: ProjectionFeed;
  /** Its reads, in a run with access control. */
  reading: ReadingApi | undefined;
  /** Variables, locks and root keys, in a run with a keyring. */
  keyring: KeyringApi | undefined;
  private readonly writer: Writer;
  /** What it answers other regions. */
  readonly forRegions: RegionJobs;
  private readonly registerJob: RegisterEverywhere;
  private readonly deregisterJob: DeregisterEverywhere;
  private readonly evaluateJob: EvaluateJob;
  private readonly revertJob: RevertJob;
  private readonly stopAllocation: StopAllocation;
  private readonly setConfiguration: SetSchedulerConfiguration;
  private readonly dispatchJob: DispatchJob;
  private readonly forceLaunch: ForceLaunch;
  private readonly planJob: PlanJob;
  private readonly variables: Variables;
  private readonly variableWrites: TransactionWriter;
  private readonly restoring: RestoreSnapshot;
  private readonly inquiry: BrokerInquiry;
  private readonly calls: RetryingRpc;
  /** Calls for the users of the simulation, which has no access control. */
  private readonly asUser: UserRpc;

  constructor(
    private readonly process: SimulatedProcess,
    private readonly context: ServiceContext,
    private readonly database: DatabaseConnection,
    archives: ArchivesOfProcess,
  ) {
    const { log, clock, timers, newId, rpc, regions } = context;
    this.feed = new ProjectionFeed({ record: database, clock, timers });
    this.writer = new Writer(log, this.feed, () => context.tracer);
    const lookup: JobLookup = {
      job: (namespace, id) => database.decidedOnJob(namespace, id),
      schedulerConfiguration: () => database.schedulerConfiguration(),
    };
    const readable = (index: number): Promise<unknown> => this.writer.readable(index);
    this.calls = new RetryingRpc(rpc, clock, timers);
    this.asUser = new UserRpc(rpc, EVERYBODY_CALLS);
    this.inquiry = new BrokerInquiry(this.calls);
    // The configurations of tasks are scripts for the simulated machines, and fit no driver.
    const admission = new JobAdmission(NO_LIMITS, { faultsOf: async () => [] });
    const writer = new TransactionWriter({ log: this.writer, clock, newId, region: regions.own, caughtUp: readable });
    const jobs = new CurrentJobs(log, {
      job: (namespace, id) => lookup.job(namespace, id),
      applied: () => this.feed.applied,
      readable,
    });
    const registerHere = new RegisterJob({ writer, jobs, admission, read: lookup, newId });
    const deregisterHere = new DeregisterJob({ writer, jobs, newId });
    this.forRegions = new RegionJobs(jobs, registerHere, deregisterHere);
    this.registerJob = new RegisterEverywhere(regions, admission, registerHere, this.forRegions);
    this.deregisterJob = new DeregisterEverywhere(regions, deregisterHere, jobs);
    this.evaluateJob = new EvaluateJob({ writer, jobs, read: database, newId });
    this.revertJob = new RevertJob(jobs, registerHere, database);
    this.stopAllocation = new StopAllocation(writer, (id) => database.allocation(id), newId);
    this.setConfiguration = new SetSchedulerConfiguration(lookup, writer, this.inquiry);
    this.dispatchJob = new DispatchJob({ writer, jobs, register: registerHere, read: lookup, newId });
    this.forceLaunch = new ForceLaunch(log, rpc, readable);
    this.variableWrites = writer;
    this.variables = new Variables({
      model: {
        variables: {
          variable: (namespace, path) => database.variable(namespace, path),
          variables: () => Promise.reject(new Error('lists are not simulated')),
        },
        txnVerdict: (index) => database.txnVerdict(index),
      },
      writes: writer,
      keyring: PLAIN_KEYRING,
      rpc: this.calls,
    });
    this.planJob = new PlanJob({ admission, log, rpc, region: regions.own, seen: () => this.feed.applied, clock });
    this.restoring = new RestoreSnapshot({
      open: async (bytes) => openPlainArchive(bytes),
      archives,
      log,
      writer,
      readable: (index, timeoutMs) => this.feed.waitFor(index, timeoutMs),
      roles: new ResumedRoles({
        feed: this.feed,
        leases: () => database.leases(),
        brokerAt: (index) => this.inquiry.enabledAt(index),
        monotonic: process.monotonic,
      }),
      applied: () => database.appliedIndex(),
      monotonic: process.monotonic,
      newId,
    });
  }

  register(job: Job, over: Partial<RegisterJobRequest> = {}): Promise<Written> {
    const request: RegisterJobRequest = {
      Job: job,
      warnings: [],
      Submission: null,
      EnforceIndex: false,
      JobModifyIndex: 0,
      PreserveCounts: false,
      PreserveResources: false,
      EvalPriority: 0,
      ...over,
    };
    return this.registerJob.register(request, this.requester());
  }

  /** @param over with `global`: in all regions that the job lists @param requestId of what it writes, in each of them */
  deregister(
    id: string,
    over: Partial<DeregisterOptions & { readonly global: boolean }> = {},
    requestId = this.process.newId(),
  ): Promise<Written> {
    const options = {
      namespace: NAMESPACE,
      id,
      purge: false,
      evalPriority: 0,
      noShutdownDelay: false,
      global: false,
      ...over,
    };
    return this.deregisterJob.deregister(options, this.requester(requestId));
  }

  evaluate(id: string, over: Partial<EvaluateOptions> = {}): Promise<Written> {
    return this.evaluateJob.evaluate({ namespace: NAMESPACE, id, forceReschedule: false, ...over }, this.requester());
  }

  revert(id: string, version: number): Promise<Written> {
    return this.revertJob.revert(NAMESPACE, id, { version, enforcePriorVersion: null }, this.requester());
  }

  stop(id: string, over: Partial<StopAllocationOptions> = {}): Promise<Written> {
    const options = { id, noShutdownDelay: false, reschedule: false, ...over };
    return this.stopAllocation.stop(options, this.requester());
  }

  /** A child of a parameterized job; two with one token are one. */
  dispatch(id: string, idempotencyToken: string): Promise<Written> {
    const wish = { payload: Buffer.alloc(0), meta: {}, idPrefix: '', priority: 0, idempotencyToken };
    return this.dispatchJob.dispatch(NAMESPACE, id, wish, this.requester());
  }

  launch(id: string): Promise<Written> {
    return this.forceLaunch.launch(NAMESPACE, id, EVERYBODY_CALLS);
  }

  /** Where another region takes requests. @throws RpcUnavailableError */
  async addressIn(region: string): Promise<string> {
    return (await this.context.regions.askRegion(region, apiAddress, null)).Address;
  }

  /** Played through, written nowhere. */
  async plan(job: Job): Promise<Written> {
    await this.planJob.plan({ Job: job, Diff: true, warnings: [] }, EVERYBODY_CALLS);
    return { Index: 0 };
  }

  async collectGarbage(): Promise<Written> {
    await this.inquiry.forceGc(EVERYBODY_CALLS);
    return { Index: 0 };
  }

  /** The archive that is handed out. */
  saveSnapshot(): Promise<SavedArchive> {
    return this.database.archive();
  }

  async restoreSnapshot(archive: SavedArchive): Promise<Written> {
    return { Index: await this.restoring.restore(archive(), this.requester()) };
  }

  /** Asked of one machine, which does it itself. */
  async ask<Req, Res>(call: Call<Req, Res>, request: Req, options: AskOptions): Promise<Written> {
    await this.asUser.ask(call, request, options);
    return { Index: 0 };
  }

  configure(config: SchedulerConfiguration): Promise<Written> {
    return this.setConfiguration.replaceConfiguration({ config, cas: undefined }, this.requester());
  }

  /** Passed on to the service that decides it; answered once what that wrote can be read. */
  async command<Req extends { readonly For: OnBehalfOf }, Res extends Written>(
    call: Call<Req, Res>,
    wanted: Omit<Req, 'For'>,
  ): Promise<Written> {
    const For: OnBehalfOf = { Actor: USER, Reason: '', RequestID: this.context.newId() };
    const answer = await this.asUser.ask(call, { ...wanted, For } as Req);
    if (answer.Index > 0) await this.writer.readable(answer.Index);
    return answer;
  }

  /** @param wanted 200, or 409 with what stands there */
  async variable(
    path: string,
    operation: WritingOperation,
    given: Partial<GivenVariable>,
    Namespace = NAMESPACE,
  ): Promise<VariableAnswer> {
    const owner = { Namespace, Path: path };
    const whole = { Namespace: '', Items: null, Lock: null, ...given };
    const wanted = variableWrite(owner, whole, operation, this.context.newId);
    await this.variableWrites.write(PLAIN_ROOT_KEY, this.requester().author);
    return this.variables.write(ANYTHING, this.requester().author, owner, wanted);
  }

  /** The items, none if there is no such variable, and the index for a checked write. */
  async variableItems(path: string): Promise<{ readonly items: Items; readonly index: number }> {
    const { row } = await this.database.variable(NAMESPACE, path);
    return { items: row ? await PLAIN_KEYRING.openItems(row, row) : {}, index: row?.ModifyIndex ?? 0 };
  }

  renewLock(path: string, lockId: string): Promise<VariableAnswer> {
    return this.variables.renew({ Namespace: NAMESPACE, Path: path }, lockId, EVERYBODY_CALLS);
  }

  private requester(RequestID = this.process.newId()): Requester {
    return Requester.inOtherRegion({ Actor: USER, Reason: '', RequestID }, undefined);
  }
}
