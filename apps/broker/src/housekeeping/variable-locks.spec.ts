import { FakeTime, isRefusal, MAX_LOCK_DELAY_NS, Refusal } from '@waybill/model';
import { fixtures, StateMachine, type TxnPayloads, type VariableChange, variableOutcome } from '@waybill/state';
import { silentLogger } from '@waybill/telemetry';
import { beforeEach, expect, it } from 'vitest';
import { LONGEST_RELEASE_RETRY_MS, RELEASE_RETRY_MS, VariableLocks } from './variable-locks.js';

const Path = 'leader';
const TTL_MS = 10_000;
const DELAY_MS = 5_000;

let time: FakeTime;
let machine: StateMachine;
let locks: VariableLocks;
/** What the log fails with; undefined: it takes everything. */
let fails: Error | undefined;
/** Releases that were tried. */
let tried: number;

const apply = (change: VariableChange) => {
  const applied = fixtures.apply(machine, 'VarApplyState', change, { namespace: 'default' });
  for (const one of applied.changes) locks.changed(one);
  return applied;
};
const locksOf = (state: StateMachine): VariableLocks =>
  new VariableLocks({
    tables: state.tables,
    timers: time,
    logger: silentLogger,
    writer: {
      write: async (_, payload, namespace) => {
        tried += 1;
        if (fails) throw fails;
        expect(namespace).toBe('default');
        const { verdict, index } = apply(payload as TxnPayloads['VarApplyState']);
        if (verdict.kind === 'refused') throw new Refusal(verdict.code, verdict.error);
        return index;
      },
    },
  });

beforeEach(() => {
  time = new FakeTime();
  machine = fixtures.aMachine();
  const Key = fixtures.aRootKey({ KeyID: 'key' });
  fixtures.apply(machine, 'RootKeyUpsert', { Key, Rekey: false, MustExist: false });
  fails = undefined;
  tried = 0;
  locks = locksOf(machine);
  locks.start();
});

const lock = { TTL: TTL_MS * 1e6, LockDelay: DELAY_MS * 1e6 };
const acquire = (ID: string) =>
  apply({ Op: 'lock-acquire', Path, Lock: { ID, ...lock }, KeyID: 'key', Data: 'sealed' });
const isConflict = (change: VariableChange): boolean => {
  const { verdict } = apply(change);
  const outcome = variableOutcome('result' in verdict ? verdict.result : undefined);
  return outcome !== undefined && 'Conflict' in outcome;
};
const isLocked = (): boolean => machine.tables.variables.get(`default/${Path}`)?.Lock != null;
const renewal = (id = 'mine'): string => {
  try {
    return locks.renew('default', Path, id).Path;
  } catch (error) {
    if (isRefusal(error, 'conflict') || isRefusal(error, 'not-found')) return (error as Error).message;
    throw error;
  }
};

it('OP-202: a lock that nobody renews ends after twice its TTL and its delay, and not before', async () => {
  acquire('mine');
  await time.pass(2 * TTL_MS + DELAY_MS - 1);
  expect([isLocked(), tried]).toEqual([true, 0]);
  expect(isConflict({ Op: 'lock-acquire', Path, Lock: { ID: 'yours', ...lock }, KeyID: 'key', Data: 'x' })).toBe(true);
  await time.pass(1);
  expect([isLocked(), tried, locks.size, time.pending]).toEqual([false, 1, 0, 0]);
});

it('OP-202: a renewal starts the TTL anew and writes nothing; in the delay it comes too late', async () => {
  const { index } = acquire('mine');
  for (let n = 0; n < 5; n++) {
    await time.pass(2 * TTL_MS - 1);
    expect(renewal()).toBe(Path);
  }
  expect([machine.appliedIndex, tried]).toEqual([index, 0]);
  await time.pass(2 * TTL_MS);
  expect(renewal()).toBe('attempting to modify locked variable');
  await time.pass(DELAY_MS);
  expect(renewal()).toBe("variable doesn't hold a lock");
});

it('OP-201, OP-202: a renewal by another ID, of no lock and of no variable', () => {
  expect(renewal()).toBe("variable doesn't exist");
  acquire('mine');
  expect(renewal('yours')).toBe('attempting to modify locked variable');
  apply({ Op: 'lock-release', Path, LockID: 'mine' });
  expect([renewal(), locks.size, time.pending]).toEqual(["variable doesn't hold a lock", 0, 0]);
});

it('OP-200: acquiring again starts the time anew, other writes of the holder do not', async () => {
  acquire('mine');
  await time.pass(2 * TTL_MS);
  acquire('mine');
  await time.pass(TTL_MS);
  apply({ Op: 'set', Path, LockID: 'mine', KeyID: 'key', Data: 'other' });
  await time.pass(TTL_MS + DELAY_MS - 1);
  expect(isLocked()).toBe(true);
  await time.pass(1);
  expect(isLocked()).toBe(false);
});

it('OP-202: a release that the log does not take is tried again, later each time', async () => {
  acquire('mine');
  fails = new Error('no log');
  await time.pass(2 * TTL_MS + DELAY_MS + 3 * RELEASE_RETRY_MS);
  expect(tried).toBe(3); // at once, after one pause, and after two more
  fails = undefined;
  await time.pass(4 * RELEASE_RETRY_MS);
  expect([isLocked(), tried, time.pending]).toEqual([false, 4, 0]);
});

it('OP-202: a release that comes too late does not end what was acquired meanwhile', async () => {
  acquire('mine');
  fails = new Error('no log');
  await time.pass(2 * TTL_MS + DELAY_MS);
  acquire('mine');
  fails = undefined;
  await time.pass(2 * TTL_MS);
  expect([isLocked(), tried]).toEqual([true, 1]);
});

it('OP-202, AU-262: the next holder starts every lock with the full time', async () => {
  acquire('mine');
  await time.pass(2 * TTL_MS - 1);
  locks.stop();
  expect(time.pending).toBe(0);
  locks = locksOf(machine);
  locks.start();
  expect(renewal()).toBe(Path);
  await time.pass(2 * TTL_MS + DELAY_MS - 1);
  expect(isLocked()).toBe(true);
  await time.pass(1);
  expect(isLocked()).toBe(false);
});

it('a deleted variable, and one that was released, are waited for no more', async () => {
  acquire('mine');
  apply({ Op: 'delete', Path, LockID: 'mine' });
  expect([locks.size, time.pending]).toEqual([0, 0]);
  acquire('mine');
  locks.stop();
  apply({ Op: 'lock-release', Path, LockID: 'mine' });
  acquire('yours');
  expect([locks.size, time.pending]).toEqual([0, 0]);
});

it.each([
  ['conflict', 1],
  ['not-found', 1],
  ['invalid', 2],
] as const)('OP-202: a release that is refused as %s is tried %i times', async (code, times) => {
  acquire('mine');
  fails = new Refusal(code, 'refused');
  await time.pass(2 * TTL_MS + DELAY_MS + RELEASE_RETRY_MS);
  expect([tried, time.pending]).toEqual([times, times - 1]);
});

it('OP-202: a release that fails after the end of the term is not tried again', async () => {
  acquire('mine');
  fails = new Error('no log');
  const write = time.pass(2 * TTL_MS + DELAY_MS);
  await write;
  locks.stop();
  await time.pass(2 * LONGEST_RELEASE_RETRY_MS);
  expect([tried, time.pending]).toEqual([1, 0]);
});

it('OP-202: the pause between two attempts grows to a minute and no longer', async () => {
  acquire('mine');
  fails = new Error('no log');
  await time.pass(2 * TTL_MS + DELAY_MS + 63_000);
  expect(tried).toBe(7); // after 0, 1, 3, 7, 15, 31 and 63 seconds
  await time.pass(LONGEST_RELEASE_RETRY_MS - 1);
  expect(tried).toBe(7);
  await time.pass(1);
  expect(tried).toBe(8);
  await time.pass(LONGEST_RELEASE_RETRY_MS);
  expect(tried).toBe(9);
});

it('OP-200: a delay counts for a minute at most', async () => {
  const Lock = { ID: 'mine', TTL: TTL_MS * 1e6, LockDelay: 10 * MAX_LOCK_DELAY_NS };
  apply({ Op: 'lock-acquire', Path, Lock, KeyID: 'key', Data: 'sealed' });
  await time.pass(2 * TTL_MS + MAX_LOCK_DELAY_NS / 1e6 - 1);
  expect(tried).toBe(0);
  await time.pass(1);
  expect(tried).toBe(1);
});
