import { Readable } from 'node:stream';
import {
  AccessControl,
  type AccessControlParts,
  accessOf,
  AllocationsController,
  ApiCore,
  type ApiParts,
  type ApiRequest,
  callersOf,
  checkAsked,
  checkLabels,
  DeploymentsController,
  EvalTimers,
  EvaluationsController,
  EventStreamController,
  FuzzySearch,
  HostVolumesController,
  JobList,
  JobsController,
  JobStatuses,
  NamespacesController,
  needsOf,
  NodeList,
  NodesController,
  PoliciesController,
  PrefixSearch,
  RestoreWatch,
  RolesController,
  SearchController,
  ServicesController,
  StreamPermits,
  Subscriptions,
  taskCredentials,
  TaskRequests,
  TokenAnswers,
  TokensController,
  TokenSecrets,
  Variables,
  VariablesController,
  VolumeLists,
  VolumesController,
  workloadsOf,
} from '@waybill/api';
import { KEY_BYTES } from '@waybill/keyring';
import { HTTP_STATUS_OF, NS_PER_MINUTE, NS_PER_SECOND, pause, Refusal } from '@waybill/model';
import { EventLog, FairTurns, ProjectionFeed, type ReadModel } from '@waybill/projection';
import type { ServiceContext } from '@waybill/service';
import type { TransactionWriter } from '@waybill/writing';
import type { SeededRandom } from '../kernel/seeded-random.js';
import type { SimulatedProcess } from '../kernel/simulated-process.js';
import { PLAIN_KEYRING } from './plain-keyring.js';
import { verifyPlainIdentity } from './plain-identity.js';
import { SimulatedConnection, SimulatedReply, type StreamReader } from './simulated-reply.js';
import { readModelOf } from './simulated-read-model.js';
import type { World } from './world.js';

/** How long tokens may live; shorter than in production, so that they expire within a run. */
export const TOKEN_LIMITS = { minTtlNs: NS_PER_SECOND, maxTtlNs: 60 * NS_PER_MINUTE };

/** A request as a reader sends it; `route` is the path as the controller declares it. */
export interface ReadRequest {
  readonly route: string;
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | string[]>>;
  readonly body?: object;
  /** Secret of a token or identity of a workload; undefined: the reader is anonymous. */
  readonly credential: string | undefined;
}

export interface Answer {
  readonly status: number;
  /** Decoded, if the status is 200. */
  readonly body: unknown;
}

type Handler = (...args: unknown[]) => Promise<void>;

/** Readers who are not listened to: answers come as a whole. */
const NOBODY: StreamReader = { take: () => {}, end: () => {} };
/** After which the event loop goes on, milliseconds. */
const TURN_MS = 0.01;

/**
 * The reads of one API process with access control on: the guard, the controllers, the caches and the event streams of the
 * product, over the simulated Postgres and `EVENTS`. HTTP itself is left out. It ends with its process.
 */
export class ReadingApi {
  readonly secrets: TokenSecrets;
  readonly model: ReadModel;
  private readonly core: ApiCore;
  /** Whether a credential is good for the sockets of tasks. */
  private readonly accepts: ReturnType<typeof taskCredentials>;
  private readonly controllers: Readonly<Record<string, readonly [controller: object, method: string]>>;

  private constructor(
    readonly process: SimulatedProcess,
    private readonly context: ServiceContext,
    private readonly world: World,
    readonly feed: ProjectionFeed,
  ) {
    const { clock, timers } = context;
    const model = (this.model = readModelOf(process, world.postgres));
    const nonces = process.random.fork('nonces');
    this.secrets = new TokenSecrets(Buffer.alloc(KEY_BYTES, 7), (bytes) =>
      Buffer.from(Array.from({ length: bytes }, () => nonces.below(256))),
    );
    const access = new AccessControl({
      secrets: this.secrets,
      limits: TOKEN_LIMITS,
    } as AccessControlParts);
    const keyring = { ...PLAIN_KEYRING, verifyJwt: (token: string) => verifyPlainIdentity(token, clock) };
    const workloads = workloadsOf({ clock, model, keyring: keyring as never, feed });
    const callers = callersOf(access, { context, model, feed, workloads });
    this.accepts = taskCredentials(access.isOn, callers, workloads);
    const turns = new FairTurns((run) => process.reachedAfter(TURN_MS, `${process.name} turn`, run));
    const events = new EventLog(world.events.readBy(process), feed, (ms) => pause(timers, ms), turns);
    events.start();
    const subscriptions = new Subscriptions(events, timers, context.logger, { enabled: true, replayFrames: 0 });
    const restores = new RestoreWatch(
      feed,
      model,
      () => subscriptions.close(),
      () => {},
    );
    const parts = { context, model, feed, events, subscriptions, restores, access, callers, keyring };
    this.core = new ApiCore(parts as unknown as ApiParts);
    const { guard } = this.core;
    const permits = new StreamPermits({ watches: this.core.watches, namespaces: guard.namespaces });
    this.controllers = controllersOf(this.core, new EventStreamController(events, subscriptions, restores, permits));
  }

  /** As `api.service.ts` builds it. */
  static async open(process: SimulatedProcess, context: ServiceContext, world: World): Promise<ReadingApi> {
    const connection = world.wire.connectionOf(process);
    const connected = Object.create(context, { link: { value: connection } }) as ServiceContext;
    const record = readModelOf(process, world.postgres);
    const feed = new ProjectionFeed({ record, clock: context.clock, timers: context.timers });
    world.announcements.subscribe(process, feed);
    connection.onChange((up) => {
      if (up) void feed.resync().catch(() => {});
    });
    await feed.resync();
    const api = new ReadingApi(process, connected, world, feed);
    await api.core.parts.restores.start();
    return api;
  }

  get writes(): TransactionWriter {
    return this.core.writes;
  }

  get newId(): () => string {
    return this.context.newId;
  }

  /** Its own idea of the time, unix milliseconds. */
  nowMs(): number {
    return this.context.clock.nowMs();
  }

  /** @throws what is no answer: the database cannot be reached, a row was refused */
  async get(request: ReadRequest): Promise<Answer> {
    return this.answered(request, new SimulatedConnection(this.process, NOBODY, undefined));
  }

  /** Sent by a task to the socket in its secrets directory (OP-173): every request there needs a credential. */
  async getBySocket(request: ReadRequest): Promise<Answer> {
    const { accepts } = this;
    const { context, process } = this;
    const socket = new TaskRequests({ accepts, rpc: context.rpc, timers: process, logger: context.logger });
    let answer: Answer | undefined;
    socket.serve({
      inject: async ({ headers }) => {
        answer = await this.get({ ...request, credential: headers['x-nomad-token'] });
        return { statusCode: answer.status, headers: {}, stream: () => Readable.from([]) };
      },
    });
    const { credential } = request;
    const Headers: Record<string, string> = credential === undefined ? {} : { 'x-nomad-token': credential };
    const asked = { NodeID: '', RequestID: '', Method: 'GET', Path: request.route, Headers, Body: '' };
    const { Status } = await socket.answer(asked);
    return answer ?? { status: Status, body: undefined };
  }

  /**
   * Opens an event stream, and answers when it is over, or why it did not begin.
   * @param slowness of a reader who takes what is sent later
   */
  stream(request: ReadRequest, reader: StreamReader, slowness: SeededRandom | undefined): Promise<Answer> {
    return this.answered(request, new SimulatedConnection(this.process, reader, slowness));
  }

  private async answered(request: ReadRequest, connection: SimulatedConnection): Promise<Answer> {
    const [controller, method] = this.controllers[request.route] ?? [];
    const handler = (controller as Record<string, Handler> | undefined)?.[method ?? ''];
    const needs = handler && needsOf(handler);
    if (!handler || !needs) throw new Error(`the route ${request.route} is not simulated`);
    const reply = new SimulatedReply(connection);
    const asked = requestOf(request);
    try {
      const access = await accessOf(asked, needs, this.core.guard);
      checkLabels(asked, needs, access.caller);
      const whole = Object.assign(asked, { access }) as ApiRequest;
      const named = Object.values(request.params ?? {}).slice(0, handler.length - 2);
      await handler.call(controller, ...named, whole, reply.asReply);
      if (reply.status < 300) checkAsked(access);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { status: HTTP_STATUS_OF[error.code], body: error.message };
    }
    return { status: reply.status, body: decoded(reply.body) };
  }
}

/** The route of event streams. */
export const EVENTS = '/v1/event/stream';

const controllersOf = ({ model, reads, context, parts, writes, calls }: ApiCore, events: EventStreamController) => {
  const jobs = new JobsController(model, reads, new JobList(model, reads), new JobStatuses(model, reads));
  const allocations = new AllocationsController(model, reads, undefined as never);
  const timers = new EvalTimers(context.metrics, context.clock);
  const evaluations = new EvaluationsController(model, reads, undefined as never, timers);
  const deployments = new DeploymentsController(model, reads);
  const nodes = new NodesController(model, reads, new NodeList(model, reads));
  const services = new ServicesController(model, reads, writes);
  const { keyring, access } = parts;
  const variables = new VariablesController(reads, new Variables({ model, writes, keyring, rpc: calls }));
  const hostVolumes = new HostVolumesController(model, reads);
  const volumes = new VolumesController(model, reads, new VolumeLists(model, reads));
  const namespaces = new NamespacesController(model, reads, writes);
  const byPrefix = new PrefixSearch(model);
  const search = new SearchController(reads, byPrefix, new FuzzySearch(model, byPrefix));
  const tokens = new TokensController(reads, undefined as never, access, new TokenAnswers(model, access));
  return {
    '/v1/jobs': [jobs, 'list'],
    '/v1/jobs/statuses': [jobs, 'allStatuses'],
    '/v1/job/*': [jobs, 'readJob'],
    '/v1/allocations': [allocations, 'list'],
    '/v1/allocation/:id': [allocations, 'readAllocation'],
    '/v1/evaluations': [evaluations, 'list'],
    '/v1/evaluation/:id': [evaluations, 'readEvaluation'],
    '/v1/evaluation/:id/allocations': [evaluations, 'allocations'],
    '/v1/deployments': [deployments, 'list'],
    '/v1/deployment/:id': [deployments, 'readDeployment'],
    '/v1/deployment/allocations/:id': [deployments, 'allocations'],
    '/v1/nodes': [nodes, 'list'],
    '/v1/node/:id': [nodes, 'readNode'],
    '/v1/node/:id/allocations': [nodes, 'allocations'],
    '/v1/services': [services, 'list'],
    '/v1/service/:name': [services, 'readService'],
    '/v1/vars': [variables, 'list'],
    '/v1/var/*': [variables, 'readVariable'],
    '/v1/volumes': [volumes, 'list'],
    '/v1/volume/host/:id': [hostVolumes, 'readHostVolume'],
    '/v1/search': [search, 'post'],
    '/v1/search/fuzzy': [search, 'fuzzyPost'],
    '/v1/acl/policies': [new PoliciesController(model, reads, writes), 'list'],
    '/v1/acl/roles': [new RolesController(model, reads, writes), 'list'],
    '/v1/acl/tokens': [tokens, 'list'],
    '/v1/namespaces': [namespaces, 'list'],
    '/v1/namespace/*': [namespaces, 'readNamespace'],
    [EVENTS]: [events, 'stream'],
  } as const;
};

function requestOf({ route, params = {}, query = {}, body, credential }: ReadRequest) {
  const named = Object.entries(params);
  const url = named.reduce((path, [name, value]) => path.replace(name === '*' ? '*' : `:${name}`, value), route);
  const headers: Record<string, string> = credential === undefined ? {} : { 'x-nomad-token': credential };
  const sent = body && Buffer.from(JSON.stringify(body));
  const method = sent ? 'POST' : 'GET';
  return { method, url, params, query, headers, routeOptions: { url: route }, body: sent, id: 'simulated' };
}

const decoded = (body: unknown): unknown =>
  Buffer.isBuffer(body) ? (JSON.parse(body.toString('utf8')) as unknown) : body;
