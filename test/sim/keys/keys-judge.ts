import type { LostEnds } from '../checks/lost-ends.js';
import type { ReferenceState } from '../checks/reference-state.js';
import type { Report } from '../checks/violation.js';
import type { ReadVariable, WriteAnswer } from '../world/keyring-api.js';
import type { StoredTxn } from '../world/txn-stream.js';
import { LockClaims } from './lock-claims.js';
import { dueOf } from './root-key-rules.js';
import { type Effect, type Secrets, StoredSecrets } from './stored-secrets.js';
import type { StoredVariable } from './variable-rules.js';
import { Vault } from './vault.js';
import type { Wish } from './wishes.js';

/** A moment, as far as reads are judged by it. */
export interface Moment {
  /** The content of Postgres. */
  readonly stored: number;
  /** How often the log has lost its end; reads across that are not judged. */
  readonly losses: number;
  /** Postgres has transactions that the log has lost. */
  readonly isUndecided: boolean;
}

/** The parts of the cluster that the judge reads. */
export interface Judged {
  readonly reference: ReferenceState;
  readonly lostEnds: LostEnds;
  readonly clusterKey: string;
  readonly clocksWereWrong: () => boolean;
  readonly storedAt: (index: number) => StoredTxn | undefined;
  readonly postgresIndex: () => number;
  readonly isUndecided: () => boolean;
  readonly nowMs: () => number;
  readonly report: Report;
}

/**
 * Judges the answers to clients of variables, locks and root keys (docs/simulation.md). An acknowledged write counts, a
 * refused one does not, and a read shows what the log had at some moment while it ran.
 */
export class KeysJudge {
  readonly stored: StoredSecrets;
  readonly claims: LockClaims;
  readonly vault: Vault;
  /** Answers, by kind; and steps of the keyring. */
  private readonly answers = new Map<string, number>();
  private readonly wishes = new Map<string, Wish>();
  private readonly wishesByItems = new Map<string, Wish>();
  /** When each was asked. */
  private readonly askedAt = new Map<Wish, Moment>();
  private readonly refusedAt = new Map<Wish, number>();
  private readonly effects: { readonly index: number; readonly wish: Wish }[] = [];
  private losses = 0;

  constructor(private readonly of: Judged) {
    const { reference, storedAt, clusterKey, clocksWereWrong, report } = of;
    this.vault = new Vault(clusterKey);
    // Before the history of the log, which forgets.
    reference.onLost((lost) => this.lost(lost[0]?.index ?? Number.POSITIVE_INFINITY));
    this.stored = new StoredSecrets(reference, storedAt, this.vault, clocksWereWrong, report);
    this.stored.onEffect((effect) => this.happened(effect));
    this.claims = new LockClaims(this.stored, of.nowMs, report);
  }

  get judged(): ReadonlyMap<string, number> {
    return new Map([...this.answers, ...this.stored.steps, ...this.claims.seen]);
  }

  get moment(): Moment {
    return { stored: this.of.postgresIndex(), losses: this.losses, isUndecided: this.of.isUndecided() };
  }

  count(what: string): void {
    this.answers.set(what, (this.answers.get(what) ?? 0) + 1);
  }

  /** A client asks for a write. */
  asked(wish: Wish): Wish {
    this.wishes.set(wish.requestId, wish);
    this.askedAt.set(wish, this.moment);
    if (wish.items) this.wishesByItems.set(JSON.stringify(wish.items), wish);
    if (wish.op === 'release' || wish.op === 'delete') this.claims.letsGo(wish.path, wish.lockId);
    return wish;
  }

  /** Records the answer that the client got. @param lockId of the lock that it acquired */
  answered(wish: Wish, answer: WriteAnswer, lockId = ''): void {
    const { status, index } = answer;
    this.count(`${wish.op} ${status}`);
    if (status === 409) return this.refused(wish);
    if ('error' in answer) return this.failed(wish, answer.error);
    if (this.of.lostEnds.isGone(index, wish.askedMs)) return;
    const at = this.stored.firstOf(index);
    const variable = this.stored.at(at).variables.get(wish.path);
    if (!isDone(wish, variable, at))
      this.report(
        'lost-update',
        `${wish.op} of ${wish.path}, acknowledged at index ${index}: ${JSON.stringify(variable)}`,
      );
    if (wish.op === 'acquire') this.claims.acquired(wish, lockId, variable?.lock);
  }

  /** @param from when the client asked @param until when it was answered */
  readAnswered(path: string, from: Moment, until: Moment, answer: ReadVariable): void {
    if (!isJudged(from, until)) return;
    this.count(`read ${answer.status}`);
    const shown = answer.items && JSON.stringify(answer.items);
    const isShown = ({ variables, keys }: Secrets): boolean => {
      const variable = variables.get(path);
      if (answer.status === 200) return variable?.index === answer.modifyIndex && variable.items === shown;
      if (answer.status === 404) return variable === undefined;
      return variable !== undefined && !keys.has(variable.keyId) && answer.error.includes(variable.keyId);
    };
    for (let index = from.stored; index <= until.stored; index++) if (isShown(this.stored.at(index))) return;
    const invariant = answer.status === 200 || answer.status === 404 ? 'read-shows-the-log' : 'unreadable-variable';
    const was = this.stored.at(from.stored).variables.get(path);
    this.report(
      invariant,
      `${path} between ${from.stored} and ${until.stored} was ${JSON.stringify(was)}, shown was ${JSON.stringify(answer)}`,
    );
  }

  /** An operator was told that there is a new root key. */
  rotated(keyId: string, index: number, askedMs: number): void {
    if (this.of.lostEnds.isGone(index, askedMs)) return;
    if (!this.stored.at(this.stored.firstOf(index)).keys.has(keyId))
      this.report('lost-update', `root key ${keyId}, acknowledged at index ${index}, is not there`);
  }

  /** Returns the work that must still end, in words; undefined if there is none. */
  due(): string | undefined {
    return dueOf(this.stored.now.keys, (keyId) => this.stored.isInUse(keyId), this.of.nowMs() * 1e6);
  }

  /** Checks at rest that every variable can be read. */
  finish(): void {
    const { variables, keys } = this.stored.now;
    for (const { path, keyId } of variables.values())
      if (!keys.has(keyId) && !this.stored.forcedOut.has(keyId))
        this.report('unreadable-variable', `${path} is under root key ${keyId}, which is gone and was not forced out`);
  }

  private report(invariant: string, details: string): void {
    this.of.report(invariant, details);
  }

  /** A write found no active root key, or met a variable whose root key is missing. */
  private failed(wish: Wish, error: string): void {
    const [from, until] = [this.askedAt.get(wish) ?? this.moment, this.moment];
    if (!isJudged(from, until)) return;
    const isSo = ({ variables, keys }: Secrets): boolean => {
      const keyId = variables.get(wish.path)?.keyId;
      const isMissing = keyId !== undefined && !keys.has(keyId) && error.includes(keyId);
      return isMissing || ![...keys.values()].some(({ state }) => state === 'active');
    };
    for (let index = from.stored; index <= until.stored; index++) if (isSo(this.stored.at(index))) return;
    this.report('unreadable-variable', `${wish.op} of ${wish.path} failed: ${error}`);
  }

  private refused(wish: Wish): void {
    this.refusedAt.set(wish, this.stored.last);
    const effect = this.effects.find((one) => one.wish === wish);
    if (effect) this.refusedCounts(effect.index, wish);
    this.claims.refused(wish);
  }

  private refusedCounts(index: number, { op, path }: Wish): void {
    this.report('refused-write', `${op} of ${path} was answered with a conflict and counts at index ${index}`);
  }

  /** Checks that a client asked for every change except those of the broker, which change no items. */
  private happened(effect: Effect): void {
    const { index, path, requestId, isOfHolder, before, after } = effect;
    if (isOfHolder) {
      this.count(after?.keyId === before?.keyId ? 'lock ended by the broker' : 'encrypted anew');
      if (after?.items !== before?.items)
        this.report('lost-update', `the broker changed the items of ${path} at index ${index}`);
      return;
    }
    const wish = this.wishes.get(requestId) ?? this.wishesByItems.get(after?.items ?? '');
    if (wish?.path !== path)
      return this.report(
        'unasked-write',
        `${path} at index ${index} is ${JSON.stringify(after)}, which nobody asked for`,
      );
    this.effects.push({ index, wish });
    if (this.refusedAt.has(wish)) this.refusedCounts(index, wish);
  }

  private lost(first: number): void {
    this.losses++;
    while ((this.effects.at(-1)?.index ?? 0) >= first) this.effects.pop();
  }
}

/** Says whether a read between two moments shows a part of the log that still counts. */
const isJudged = (from: Moment, until: Moment): boolean =>
  from.losses === until.losses && !from.isUndecided && !until.isUndecided;

function isDone({ op, items, lockId }: Wish, variable: StoredVariable | undefined, at: number): boolean {
  if (op === 'delete') return variable === undefined;
  if (op === 'release') return variable?.index === at && variable.lock === undefined;
  const isWritten = variable?.index === at && variable.items === JSON.stringify(items);
  return (
    isWritten && (op !== 'acquire' || variable.lock !== undefined) && (lockId === '' || variable.lock?.id === lockId)
  );
}
