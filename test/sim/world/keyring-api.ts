import {
  BlockingQueries,
  EVERYBODY,
  type GivenVariable,
  ofVariable,
  Reads,
  RequestAccess,
  Requester,
  ResponseCache,
  RetryingRpc,
  RootKeyWrites,
  type Rotation,
  storedRootKeys,
  type VariableAnswer,
  variableDelete,
  type VariableOperation,
  Variables,
  VariablesController,
  variableWrite,
  Writer,
  type ApiRequest,
} from '@waybill/api';
import { type Keyring, KeyringError, type PublicJwk } from '@waybill/keyring';
import { HTTP_STATUS_OF, isRefusal, Refusal } from '@waybill/model';
import { ProjectionFeed } from '@waybill/projection';
import { EVERYBODY_CALLS } from '@waybill/rpc';
import { openKeyring, type ServiceContext } from '@waybill/service';
import type { Actor } from '@waybill/state';
import { TransactionWriter } from '@waybill/writing';
import type { SimulatedProcess } from '../kernel/simulated-process.js';
import { SimulatedConnection, SimulatedReply, type StreamReader } from './simulated-reply.js';
import { readModelOf } from './simulated-read-model.js';
import type { World } from './world.js';

export const NAMESPACE = 'default';
const CLIENT: Actor = { Kind: 'anonymous', ID: '', Name: 'anonymous' };
/** Answers come as a whole. */
const NOBODY: StreamReader = { take: () => {}, end: () => {} };

/** What is asked of a variable, besides its path. */
export interface VariableWish {
  readonly operation: Exclude<VariableOperation, { readonly op: 'lock-renew' }>;
  readonly given: Partial<GivenVariable>;
}

/** The answer to a write; 500: a root key is missing, and the text says which. */
export type WriteAnswer = VariableAnswer | { readonly status: 500; readonly index: 0; readonly error: string };

/** The answer to a read of one variable. */
export interface ReadVariable {
  readonly status: number;
  /** X-Nomad-Index. */
  readonly index: number;
  /** The index of the variable's last write; 0 if there is none. */
  readonly modifyIndex: number;
  readonly items: Readonly<Record<string, string>> | undefined;
  /** What the answer says, if it is an error. */
  readonly error: string;
}

/**
 * Variables, locks and root keys in one API process, with a keyring that encrypts: the classes of the product over the
 * simulated log and Postgres. HTTP itself is left out. It ends with its process.
 */
export class KeyringApi {
  private readonly variables: Variables;
  private readonly controller: VariablesController;
  private readonly rootKeys: RootKeyWrites;

  private constructor(
    readonly process: SimulatedProcess,
    private readonly context: ServiceContext,
    world: World,
    feed: ProjectionFeed,
    private readonly keyring: Keyring,
  ) {
    const { log, clock, timers, newId, rpc, random, regions } = context;
    const model = readModelOf(process, world.postgres);
    const proposer = new Writer(log, feed, () => context.tracer);
    const writes = new TransactionWriter({
      log: proposer,
      clock,
      newId,
      region: regions.own,
      caughtUp: (index) => proposer.readable(index),
    });
    this.variables = new Variables({ model, writes, keyring, rpc: new RetryingRpc(rpc, clock, timers) });
    const cache = new ResponseCache({
      readPoint: () => model.readPoint(),
      announced: (index, timeoutMs) => feed.announced(index, timeoutMs),
      onChangeOf: (watched, run) => feed.onChangeOf(watched, run),
    });
    const age = { lastContactMs: 0, knownLeader: true };
    const reads = new Reads(new BlockingQueries(feed, clock, random), () => age, cache);
    this.controller = new VariablesController(reads, this.variables);
    this.rootKeys = new RootKeyWrites({ model, writes, keyring, newId });
  }

  /** As `api.service.ts` builds it. */
  static async open(process: SimulatedProcess, context: ServiceContext, world: World): Promise<KeyringApi> {
    const model = readModelOf(process, world.postgres);
    const { clock, timers } = context;
    const feed = new ProjectionFeed({ record: model, clock, timers });
    world.announcements.subscribe(process, feed);
    world.wire.connectionOf(process).onChange((up) => {
      if (up) void feed.resync().catch(() => {});
    });
    await feed.resync();
    const keyring = await openKeyring(context, storedRootKeys({ model, feed, clock }));
    return new KeyringApi(process, context, world, feed, keyring);
  }

  /** Its own idea of the time, unix milliseconds. */
  nowMs(): number {
    return this.context.clock.nowMs();
  }

  /** @param requestId of the first transaction of the write */
  write(Path: string, { operation, given }: VariableWish, requestId: string): Promise<WriteAnswer> {
    const owner = { Namespace: NAMESPACE, Path };
    const whole = { Namespace: '', Items: null, Lock: null, ...given };
    const wanted = variableWrite(owner, whole, operation, this.context.newId);
    return answerOf(this.variables.write(accessFor('write'), this.author(requestId), owner, wanted));
  }

  /** @param checkIndex undefined: whatever stands there */
  remove(Path: string, lockId: string, checkIndex: number | undefined, requestId: string): Promise<WriteAnswer> {
    const owner = { Namespace: NAMESPACE, Path };
    const change = variableDelete(Path, lockId === '' ? null : { ID: lockId, TTL: 0, LockDelay: 0 }, checkIndex);
    return answerOf(this.variables.write(accessFor('destroy'), this.author(requestId), owner, { change }));
  }

  renew(Path: string, lockId: string): Promise<VariableAnswer> {
    return this.variables.renew({ Namespace: NAMESPACE, Path }, lockId, EVERYBODY_CALLS);
  }

  /**
   * Reads a variable, as a request with `index` and `wait` does. @throws what says nothing of the variable: the database
   * cannot be reached, or has refused the row
   */
  async read(path: string, afterIndex = 0, waitMs = 0): Promise<ReadVariable> {
    const reply = new SimulatedReply(new SimulatedConnection(this.process, NOBODY, undefined));
    const query = afterIndex === 0 ? {} : { index: String(afterIndex), wait: `${waitMs}ms` };
    const request = {
      method: 'GET',
      url: `/v1/var/${path}`,
      params: { '*': path },
      query,
      headers: {},
      id: 'simulated',
    };
    const access = accessFor('read');
    let failed: Refusal | undefined;
    try {
      await this.controller.readVariable({ ...request, access } as unknown as ApiRequest, reply.asReply);
    } catch (error) {
      const isOfVariable = error instanceof KeyringError || isRefusal(error, 'not-found');
      if (!isOfVariable || !(error instanceof Refusal)) throw error;
      failed = error;
    }
    const index = Number(reply.headers.get('X-Nomad-Index') ?? 0);
    if (failed)
      return { status: HTTP_STATUS_OF[failed.code], index, modifyIndex: 0, items: undefined, error: failed.message };
    const { ModifyIndex, Items } = JSON.parse(Buffer.from(reply.body as Uint8Array).toString('utf8')) as {
      readonly ModifyIndex: number;
      readonly Items: Readonly<Record<string, string>>;
    };
    return { status: 200, index, modifyIndex: ModifyIndex, items: Items, error: '' };
  }

  rotate(rotation: Rotation, requestId: string): ReturnType<RootKeyWrites['rotate']> {
    return this.rootKeys.rotate(rotation, this.author(requestId));
  }

  removeKey(keyId: string, force: boolean, requestId: string): Promise<number> {
    return this.rootKeys.remove(keyId, force, this.author(requestId));
  }

  /** What `/.well-known/jwks.json` shows. */
  publicKeys(): Promise<readonly PublicJwk[]> {
    return this.keyring.publicKeys();
  }

  private author(RequestID: string): Requester['author'] {
    return Requester.inOtherRegion({ Actor: CLIENT, Reason: '', RequestID }, undefined).author;
  }
}

const answerOf = (written: Promise<VariableAnswer>): Promise<WriteAnswer> =>
  written.catch((error: unknown) => {
    if (!(error instanceof KeyringError)) throw error;
    return { status: 500, index: 0, error: error.message };
  });

const accessFor = (capability: 'read' | 'write' | 'destroy'): RequestAccess =>
  new RequestAccess(EVERYBODY, ofVariable(capability), NAMESPACE, async () => []);
