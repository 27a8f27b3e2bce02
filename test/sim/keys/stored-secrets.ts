import { type Applied, namesArchive, type Tables, type Txn } from '@waybill/state';
import type { ReferenceState } from '../checks/reference-state.js';
import { isRestore } from '../checks/restores.js';
import type { Report } from '../checks/violation.js';
import type { StoredTxn } from '../world/txn-stream.js';
import { isOld, type RootKeyTxn, ruleKeys, type StoredKey, type StoredKeys } from './root-key-rules.js';
import { rule, type StoredVariable, type StoredVariables } from './variable-rules.js';
import type { Vault } from './vault.js';

/** Variables and root keys at an index of the log. */
export interface Secrets {
  readonly variables: StoredVariables;
  readonly keys: StoredKeys;
}

/** The effect of a transaction on a variable. */
export interface Effect {
  readonly index: number;
  readonly path: string;
  readonly requestId: string;
  /** Whether a holder of a role wrote it, for nobody. */
  readonly isOfHolder: boolean;
  readonly before: StoredVariable | undefined;
  readonly after: StoredVariable | undefined;
}

const NOTHING: Secrets = { variables: new Map(), keys: new Map() };
/** A promotion may be this much early by the true time, while no clock of a server is wrong, nanoseconds. */
const CLOCKS_NS = 1_000e6;

/**
 * Variables and root keys as the rules make them from the log, worked out beside the state machine, whose rows must be the
 * same at every index. The state of every index is kept, for answers that are judged later. Memory: a copy for each change.
 */
export class StoredSecrets {
  /** Of index n at n. */
  private readonly states: Secrets[] = [NOTHING];
  private readonly firstCopies = new Map<string, number>();
  /** Root keys that an operator forced out although they were in use. */
  readonly forcedOut = new Set<string>();
  /** Steps of the keyring, by kind. */
  readonly steps = new Map<string, number>();
  private readonly listeners = new Set<(effect: Effect) => void>();
  private readonly backListeners = new Set<() => void>();

  constructor(
    private readonly reference: ReferenceState,
    /** The transaction at an index, as it was stored and not as the state machine was given it. */
    private readonly storedAt: (index: number) => StoredTxn | undefined,
    private readonly vault: Vault,
    /** Whether the wall clock of any server was ever wrong. */
    private readonly clocksWereWrong: () => boolean,
    private readonly report: Report,
  ) {
    reference.onApplied((applied) => this.take(applied));
    reference.onLost((lost) => {
      this.states.length -= lost.length;
      for (const { index, txn } of lost)
        if (this.firstCopies.get(txn.requestId) === index) this.firstCopies.delete(txn.requestId);
      for (const listener of this.backListeners) listener();
    });
  }

  get last(): number {
    return this.states.length - 1;
  }

  get now(): Secrets {
    return this.at(this.last);
  }

  at(index: number): Secrets {
    return this.states[index] ?? NOTHING;
  }

  /** Index of the transaction that counts, where the one at this index is a second copy of it (ST-6). */
  firstOf(index: number): number {
    const requestId = this.reference.applied[index - 1]?.txn.requestId;
    return (requestId === undefined ? undefined : this.firstCopies.get(requestId)) ?? index;
  }

  /** Called for each change of a variable. */
  onEffect(listener: (effect: Effect) => void): void {
    this.listeners.add(listener);
  }

  /** Called when a restore or a power cut has taken the state back. */
  onBack(listener: () => void): void {
    this.backListeners.add(listener);
  }

  /** OP-214, by the rows of the state as they are now. */
  isInUse(keyId: string, variables: StoredVariables = this.now.variables): boolean {
    const { allocs, nodes }: Tables = this.reference.machine.tables;
    for (const variable of variables.values()) if (variable.keyId === keyId) return true;
    for (const { IdentitySigningKeyID } of nodes.all()) if (IdentitySigningKeyID === keyId) return true;
    for (const { SigningKeyID, ClientStatus } of allocs.all())
      if (SigningKeyID === keyId && !ENDED.has(ClientStatus)) return true;
    return false;
  }

  private take(applied: Applied): void {
    const { index, verdict } = applied;
    const { txn } = this.storedAt(index) ?? applied;
    const before = this.now;
    const isCopy = this.firstCopies.has(txn.requestId);
    if (!isCopy) this.firstCopies.set(txn.requestId, index);
    if (isRestore(applied)) {
      this.states.push(this.at(namesArchive(applied.txn.payload) ? applied.txn.payload.Index : index - 1));
      this.note('restored');
      for (const listener of this.backListeners) listener();
    } else if (isCopy || verdict.kind === 'void') this.states.push(before);
    else if (txn.type === 'VarApplyState') this.changeVariable(before, txn);
    else if (txn.type === 'RootKeyUpsert' || txn.type === 'RootKeyDelete') this.changeKeys(before, txn);
    else this.states.push(before);
    this.compare(applied);
  }

  private changeVariable(before: Secrets, txn: Txn<'VarApplyState'>): void {
    const { index, requestId, payload } = txn;
    const ruling = rule(before.variables, txn, (keyId) => before.keys.has(keyId), this.vault);
    if (ruling.kind !== 'written' && ruling.kind !== 'deleted') return void this.states.push(before);
    const variables = new Map(before.variables);
    const after = ruling.kind === 'written' ? ruling.variable : undefined;
    if (after) variables.set(payload.Path, after);
    else variables.delete(payload.Path);
    this.states.push({ ...before, variables });
    if (after && after.items === undefined)
      this.report('unreadable-variable', `${payload.Path} at index ${index} cannot be decrypted with its root key`);
    const path = payload.Path;
    const effect = {
      index,
      path,
      requestId,
      isOfHolder: txn.fence !== undefined,
      before: before.variables.get(path),
      after,
    };
    for (const listener of this.listeners) listener(effect);
  }

  private changeKeys(before: Secrets, txn: RootKeyTxn): void {
    if (txn.type === 'RootKeyUpsert' && !before.keys.has(txn.payload.Key.KeyID)) {
      const { KeyID, Wrapped } = txn.payload.Key;
      if (!this.vault.learn(KeyID, Wrapped.Data))
        this.report('unreadable-variable', `the wrapped parts of root key ${KeyID} are not its own`);
    }
    const keys = ruleKeys(before.keys, txn, (keyId) => this.isInUse(keyId, before.variables));
    this.states.push(keys ? { ...before, keys } : before);
    if (!keys) return;
    const active = [...keys.values()].filter(({ state }) => state === 'active').length;
    if (active !== 1) this.report('one-active-key', `${active} root keys are active at index ${txn.index}`);
    if (txn.type === 'RootKeyDelete') this.removed(before.keys.get(txn.payload.KeyID), txn);
    else this.stepped(before.keys.get(txn.payload.Key.KeyID), txn);
  }

  private removed(key: StoredKey | undefined, txn: Txn<'RootKeyDelete'>): void {
    if (!key) return;
    const isUsed = this.isInUse(key.id);
    if (isUsed) this.forcedOut.add(key.id);
    this.note(txn.fence ? 'collected' : isUsed ? 'forced out' : 'removed');
    if (txn.fence && !isOld(key, txn.timeNs))
      this.report('key-collected-early', `root key ${key.id} was collected at index ${txn.index}`);
  }

  private stepped(known: StoredKey | undefined, txn: Txn<'RootKeyUpsert'>): void {
    const { KeyID, State } = txn.payload.Key;
    const by = txn.fence ? ' by the broker' : '';
    this.note(known ? `${known.state} becomes ${State}` : `${State}${txn.payload.Rekey ? ', full' : ''}${by}`);
    if (known?.state !== 'prepublished' || State !== 'active') return;
    const isEarly = txn.timeNs < known.publishNs;
    const trueNs = (this.storedAt(txn.index)?.storedAtMs ?? 0) * 1e6;
    const isTrulyEarly = !this.clocksWereWrong() && trueNs < known.publishNs - CLOCKS_NS;
    if (isEarly || isTrulyEarly) this.report('key-active-early', `root key ${KeyID} is active at index ${txn.index}`);
  }

  /** The rows of the state machine are those that the rules make. */
  private compare({ index, txn, changes }: Applied): void {
    const { variables, keys } = this.now;
    const { tables } = this.reference.machine;
    const isTouched =
      txn.type === 'StateRestore' || changes.some(({ table }) => table === 'variables' || table === 'root_keys');
    if (!isTouched && this.states.at(-1) === this.states.at(-2)) return;
    const rows = new Map([...tables.variables.all()].map((row) => [row.Path, row]));
    const paths = new Set([...rows.keys(), ...variables.keys()]);
    for (const path of paths) {
      const [row, ruled] = [rows.get(path), variables.get(path)];
      const isSame =
        row?.ModifyIndex === ruled?.index && row?.Lock?.ID === ruled?.lock?.id && row?.KeyID === ruled?.keyId;
      if (!isSame)
        this.report(
          'variables-by-the-rules',
          `${path} at index ${index}: ${describe(row)} instead of ${JSON.stringify(ruled)}`,
        );
    }
    const states = new Map([...tables.root_keys.all()].map(({ KeyID, State }) => [KeyID, State as string]));
    for (const id of new Set([...states.keys(), ...keys.keys()]))
      if (states.get(id) !== keys.get(id)?.state)
        this.report(
          'keys-by-the-rules',
          `root key ${id} at index ${index}: ${states.get(id)} instead of ${keys.get(id)?.state}`,
        );
  }

  private note(step: string): void {
    this.steps.set(step, (this.steps.get(step) ?? 0) + 1);
  }
}

/** Of allocations whose tasks run no more. */
const ENDED: ReadonlySet<string> = new Set(['complete', 'failed', 'lost']);

const describe = (row: object | undefined): string =>
  JSON.stringify(row, (name, value: unknown) => (name === 'Data' ? '…' : value));
