import { type Items, type Keyring, KeyringError, type Owner } from '@waybill/keyring';
import { encodeVariableMetadata, formatDuration, type ShownLock, type Variable, type WireObject } from '@waybill/model';
import type { Found, ReadModel, VariableListOptions, VariableReads } from '@waybill/projection';
import { renewLock, type Rpc, type CallUser, UserRpc } from '@waybill/rpc';
import { type VariableChange, variableOutcome, type VariableOutcome, type WrittenVariable } from '@waybill/state';
import type { Author, TransactionWriter, Written } from '@waybill/writing';
import type { RequestAccess } from '../access/request-access.js';
import { unavailable } from '../http/api-error.js';
import { bothConditions, type ListFilter } from '../http/list-filter.js';
import { listed, type ReadResult } from '../http/read-result.js';
import type { ReadyWrite, UnsealedWrite } from './decisions/variable-write.js';

/** VariableAnswer is the answer to a write. */
export interface VariableAnswer {
  readonly status: 200 | 204 | 409;
  /** The value of `X-Nomad-Index`. */
  readonly index: number;
  readonly body?: WireObject;
}

export interface VariablesDeps {
  /** Calls that wait for a holder of the broker's role. */
  readonly rpc: Rpc;
  readonly model: Pick<ReadModel, 'txnVerdict'> & {
    readonly variables: Pick<VariableReads, 'variable' | 'variables'>;
  };
  readonly writes: Pick<TransactionWriter, 'write'>;
  readonly keyring: Pick<Keyring, 'sealItems' | 'openItems'>;
}

/**
 * The largest number of times that a write is encrypted. It is repeated if its key was deleted between encrypting and
 * applying.
 */
const MAX_SEALS = 3;

/** Returns which locks are shown. Only management tokens see a lock's ID, and its holder in a write (OP-203). */
const lockFor = ({ caller }: RequestAccess): ShownLock => (caller.acl.isManagement() ? 'whole' : 'hidden');

/**
 * Variables reads and writes variables for clients. Only this class encrypts their items before a write, and decrypts
 * them for callers who may read them (OP-204). It has no state. A list decrypts nothing.
 */
export class Variables {
  constructor(private readonly deps: VariablesDeps) {}

  /** Returns the metadata of the variables that the caller may list (OP-193). */
  list(access: RequestAccess, options: VariableListOptions, filter: ListFilter | undefined): Promise<ReadResult> {
    const encodeMetadata = (variable: Variable): WireObject => encodeVariableMetadata(variable, lockFor(access));
    const mayList = ({ Namespace, Path }: Variable): boolean =>
      access.has({ kind: 'variable', capability: 'list' }, { namespace: Namespace, path: Path });
    const matches = filter?.keep<Variable>(encodeMetadata);
    // A list that omits nothing is one statement.
    const keep = access.caller.acl.isManagement() ? matches : bothConditions(matches, mayList);
    return listed(this.deps.model.variables.variables({ ...options, keep }), encodeMetadata);
  }

  /** @throws KeyringError if its items cannot be decrypted (OP-206) */
  async readVariable(access: RequestAccess, owner: Owner): Promise<ReadResult> {
    const { index, row, items } = await this.readDecrypted(owner);
    return { index, value: row && { ...encodeVariableMetadata(row, lockFor(access)), Items: items } };
  }

  /** @throws Refusal, KeyringError, and the errors of writing */
  async write(
    access: RequestAccess,
    author: Author,
    owner: Owner,
    wanted: UnsealedWrite | ReadyWrite,
  ): Promise<VariableAnswer> {
    if (await this.isHeldByAnother(owner, wanted)) return lockedAnswer(owner);
    const { change, index, outcome } = await this.applySealed(author, owner, wanted);
    if (outcome && 'Conflict' in outcome) return this.conflictAnswer(access, owner, outcome);
    if (change.Op === 'delete' || change.Op === 'delete-cas') return { status: 204, index };
    if (!outcome) throw unavailable(`written as index ${index}, and what became of it is not known; look at it`);
    const items = 'items' in wanted ? wanted.items : undefined;
    return { status: 200, index, body: encodeWritten(owner, outcome.Written, items, heldBy(change)) };
  }

  /**
   * Renews a lock. Only the holder of the broker's role keeps the times of locks (OP-202). @throws Refusal,
   * RpcUnavailableError
   */
  async renew({ Namespace, Path }: Owner, LockID: string, user: CallUser): Promise<VariableAnswer> {
    const AtIndex = (await this.deps.model.variables.variable(Namespace, Path)).row?.ModifyIndex ?? 0;
    const { Variable: body, Index } = await new UserRpc(this.deps.rpc, user).ask(renewLock, {
      Namespace,
      Path,
      LockID,
      AtIndex,
    });
    return { status: 200, index: Index, body };
  }

  /**
   * Says whether a write wants a lock that another caller holds, as far as the read model knows. A caller that waits for
   * a lock asks each second, and a refused transaction for each question would fill the log. A lock that has just been
   * released may still count as held; the next question then succeeds.
   */
  private async isHeldByAnother({ Namespace, Path }: Owner, wanted: UnsealedWrite | ReadyWrite) {
    if (!('acquires' in wanted) || wanted.acquires === undefined) return false;
    const { row } = await this.deps.model.variables.variable(Namespace, Path);
    return row?.Lock ? row.Lock.ID !== wanted.acquires : false;
  }

  /**
   * Encrypts again if the key was rotated and deleted in between. Each attempt is a transaction of its own: with the
   * same request ID it would count as a second copy of the one that met the conflict (ST-6).
   * @throws KeyringError, Refusal, and the errors of writing
   */
  private async applySealed(first: Author, owner: Owner, wanted: UnsealedWrite | ReadyWrite) {
    const { requestId: _, ...later } = first;
    for (let seals = 0; seals < MAX_SEALS; seals++) {
      const author = seals === 0 ? first : later;
      const change =
        'change' in wanted ? wanted.change : wanted.seal(await this.deps.keyring.sealItems(owner, wanted.items));
      const applied = await this.apply(author, owner, change);
      const isOfKey = applied.outcome && 'Conflict' in applied.outcome && applied.outcome.Conflict.Why === 'key';
      if (!isOfKey) return { change, ...applied };
    }
    throw unavailable('root keys are being deleted faster than variables are written; try again');
  }

  private async apply(
    author: Author,
    { Namespace: namespace }: Owner,
    payload: VariableChange,
  ): Promise<{ readonly index: number; readonly outcome: VariableOutcome | undefined }> {
    const written = await this.deps.writes.write({ type: 'VarApplyState', payload, namespace }, author);
    return { index: written.index, outcome: variableOutcome(await this.resultOf(written)) };
  }

  /** Returns the result of a write. A second copy of a transaction has the result of the first (ST-6). */
  private async resultOf({ result }: Written): Promise<unknown> {
    if (typeof result !== 'object' || result === null || !('firstIndex' in result)) return result;
    const first = await this.deps.model.txnVerdict(Number(result.firstIndex));
    return first && 'result' in first.verdict ? first.verdict.result : undefined;
  }

  /**
   * Returns the answer to a write that met a conflict (OP-196, OP-200). The answer has the current variable, which may
   * have changed since; that helps a client which tries again.
   */
  private async conflictAnswer(
    access: RequestAccess,
    owner: Owner,
    { Conflict }: Extract<VariableOutcome, { readonly Conflict: unknown }>,
  ): Promise<VariableAnswer> {
    const { Namespace, Path } = owner;
    const nothing = lockedAnswer(owner);
    if (Conflict.Why === 'lock') return nothing;
    const lock = access.caller.acl.isManagement() ? 'withoutId' : 'hidden';
    const mayRead = access.has({ kind: 'variable', capability: 'read' }, { namespace: Namespace, path: Path });
    const { row, items } = mayRead
      ? await this.readDecrypted(owner)
      : { ...(await this.deps.model.variables.variable(Namespace, Path)), items: undefined };
    if (!row) return nothing;
    const body = { ...encodeVariableMetadata(row, lock), ...(items && { Items: items }) };
    return { status: 409, index: row.ModifyIndex, body };
  }

  /**
   * Reads and decrypts a variable. A full rotation may encrypt it anew, and an operator may then remove its former key,
   * after the row was read and before the key is. The row is therefore read again if its key is missing.
   * @throws KeyringError
   */
  private async readDecrypted({ Namespace, Path }: Owner): Promise<Found<Variable> & { readonly items?: Items }> {
    const { model, keyring } = this.deps;
    for (let missing: KeyringError | undefined, keyId = ''; ;) {
      const found = await model.variables.variable(Namespace, Path);
      const { row } = found;
      if (!row) return found;
      if (missing && row.KeyID === keyId) throw missing;
      try {
        return { ...found, items: await keyring.openItems(row, row) };
      } catch (error) {
        if (!(error instanceof KeyringError)) throw error;
        [missing, keyId] = [error, row.KeyID];
      }
    }
  }
}

/** Returns the answer that tells nothing of a variable (OP-200). */
const lockedAnswer = ({ Namespace, Path }: Owner): VariableAnswer => ({
  status: 409,
  index: 0,
  body: { Namespace, Path },
});

/** Returns the ID of the lock that the writer of a change holds after it. It is empty if there is none. */
function heldBy(change: VariableChange): string {
  if (change.Op === 'lock-acquire') return change.Lock.ID;
  return change.Op === 'lock-release' ? '' : change.LockID;
}

/** Returns a variable in its written form, for its writer (OP-195). */
function encodeWritten(
  { Namespace, Path }: Owner,
  { Lock, CreateIndex, CreateTime, ModifyIndex, ModifyTime }: WrittenVariable,
  Items: Items | undefined,
  lockId: string,
): WireObject {
  const held = Lock && {
    Lock: { ID: lockId, TTL: formatDuration(Lock.TTL), LockDelay: formatDuration(Lock.LockDelay) },
  };
  return { Namespace, Path, ...held, CreateIndex, CreateTime, ModifyIndex, ModifyTime, ...(Items && { Items }) };
}
