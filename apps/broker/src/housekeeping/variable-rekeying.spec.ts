import { SimulatedTime } from '@waybill/model';
import { LocalState } from '@waybill/replica';
import { HolderWriter } from '@waybill/roles';
import { draftTxn, fixtures, namespacedKey, serviceActor, type TxnPayloads, type TxnType } from '@waybill/state';
import { silentLogger } from '@waybill/telemetry';
import { beforeEach, expect, it } from 'vitest';
import {
  type ItemSealer,
  MAX_UNREADABLE,
  REKEY_BATCH,
  REKEY_CHECK_MS,
  REKEY_PAUSE_MS,
  REKEY_RETRY_MS,
  VariableRekeying,
} from './variable-rekeying.js';

const { aRootKey, uuid } = fixtures;
const [OLD, NEW] = [uuid(0xa), uuid(0xb)];

let time: SimulatedTime;
let state: LocalState;
let ids: number;
let written: string[];
/** Paths that cannot be decrypted. */
let broken: Set<string>;
let opened: number;
/** Happens while a variable is between its decryption and its write. */
let meanwhile: (path: string) => void;
let rekeying: VariableRekeying;
let warnings: string[];

/** Says which key sealed what, instead of encrypting it. */
const sealer: ItemSealer = {
  openItems: async ({ Path }, { Data }) => {
    opened++;
    if (broken.has(Path)) throw new Error(`cannot be decrypted with root key ${OLD}`);
    return { said: Data };
  },
  sealItems: async ({ Path }, { said = '' }) => {
    meanwhile(Path);
    return { KeyID: NEW, Data: said };
  },
};

function write<T extends TxnType>(type: T, payload: TxnPayloads[T], namespace = ''): void {
  const context = { timeNs: fixtures.timeNs, requestId: `test-${++ids}`, actor: serviceActor('test'), namespace };
  void state.propose(draftTxn(type, payload, context));
}
const put = (Path: string, Data = Path, KeyID = OLD): void =>
  write('VarApplyState', { Op: 'set', Path, LockID: '', KeyID, Data }, 'default');
const variable = (path: string) => state.tables.variables.get(namespacedKey('default', path));
const stateOf = (key: string) => state.tables.root_keys.get(key)?.State;

async function pass(ms: number): Promise<void> {
  time.advance(ms);
  for (let n = 0; n < 2 * REKEY_BATCH + 20; n++) await new Promise((resolve) => setImmediate(resolve));
}

beforeEach(() => {
  [time, state, ids, written, broken, opened] = [new SimulatedTime(), new LocalState(), 0, [], new Set(), 0];
  [meanwhile, warnings] = [() => {}, []];
  write('Initialise', {});
  write('LeaseAcquired', { Role: 'broker', Epoch: 1, Holder: 'test' });
  write('RootKeyUpsert', { Key: aRootKey({ KeyID: OLD }), Rekey: false, MustExist: false });
  const logger = { ...silentLogger, warn: (message: string) => void warnings.push(message) };
  const deps = { clock: time, timers: time, newId: () => uuid(0x100 + ++ids), region: 'global', logger };
  const holder = new HolderWriter({ ...deps, state }, { role: 'broker', epoch: 1 });
  const writer: Pick<HolderWriter, 'write'> = {
    write: (type, ...rest) => {
      written.push(type);
      return holder.write(type, ...rest);
    },
  };
  rekeying = new VariableRekeying({ ...deps, tables: state.tables, writer, sealer });
});
const rotateFully = (): void =>
  write('RootKeyUpsert', { Key: aRootKey({ KeyID: NEW }), Rekey: true, MustExist: false });

it('GC-86: variables of a key that rekeys are sealed anew, at most so many a second, and then it is inactive', async () => {
  for (let n = 0; n < REKEY_BATCH + 1; n++) put(`app/${n}`);
  rekeying.start();
  await pass(REKEY_CHECK_MS);
  expect([written, stateOf(OLD)]).toEqual([[], 'active']);
  rotateFully();
  await pass(REKEY_CHECK_MS);
  expect(written).toHaveLength(REKEY_BATCH);
  expect(state.tables.variables.count('rootKey', OLD)).toBe(1);
  await pass(REKEY_PAUSE_MS);
  await pass(REKEY_PAUSE_MS);
  expect([stateOf(OLD), stateOf(NEW)]).toEqual(['inactive', 'active']);
  expect(variable('app/7')).toMatchObject({ KeyID: NEW, Data: 'app/7' });
  rekeying.stop();
  expect(time.armedCount).toBe(0);
});

it('GC-86: a write that comes between wins, and a lock stays as it is', async () => {
  put('app/one');
  const lock = { ID: 'mine', TTL: 15e9, LockDelay: 15e9 };
  write('VarApplyState', { Op: 'lock-acquire', Path: 'app/two', Lock: lock, KeyID: OLD, Data: 'two' }, 'default');
  rotateFully();
  let raced = false;
  meanwhile = (path) => {
    if (path !== 'app/one' || raced) return;
    raced = true;
    put('app/one', 'newer');
  };
  rekeying.start();
  await pass(REKEY_CHECK_MS);
  expect(variable('app/one')).toMatchObject({ KeyID: OLD, Data: 'newer' });
  expect(variable('app/two')).toMatchObject({ KeyID: NEW, Data: 'two', Lock: { ID: 'mine' } });
  await pass(REKEY_PAUSE_MS);
  expect(variable('app/one')).toMatchObject({ KeyID: NEW, Data: 'newer' });
  await pass(REKEY_PAUSE_MS);
  expect(stateOf(OLD)).toBe('inactive');
  rekeying.stop();
});

it('OP-206: what cannot be decrypted keeps its key, holds up nothing else, and is tried again later', async () => {
  for (const path of ['app/good', 'app/bad']) put(path);
  broken.add('app/bad');
  rotateFully();
  rekeying.start();
  await pass(REKEY_CHECK_MS);
  await pass(REKEY_PAUSE_MS);
  expect(variable('app/good')?.KeyID).toBe(NEW);
  expect([variable('app/bad')?.KeyID, stateOf(OLD), opened]).toEqual([OLD, 'rekeying', 2]);
  broken.clear();
  await pass(REKEY_RETRY_MS);
  await pass(REKEY_PAUSE_MS);
  expect([variable('app/bad')?.KeyID, stateOf(OLD)]).toEqual([NEW, 'inactive']);
  rekeying.stop();
});

it('a key that opens nothing is given up after so many variables, until later', async () => {
  for (let n = 0; n < MAX_UNREADABLE + 50; n++) {
    put(`app/${n}`);
    broken.add(`app/${n}`);
  }
  rotateFully();
  rekeying.start();
  await pass(REKEY_CHECK_MS);
  for (let n = 0; n < MAX_UNREADABLE / REKEY_BATCH + 5; n++) await pass(REKEY_PAUSE_MS);
  expect(opened).toBe(MAX_UNREADABLE);
  rekeying.stop();
  await pass(REKEY_RETRY_MS);
  expect(opened).toBe(MAX_UNREADABLE);
});

it('GC-86: a batch that is interrupted by the end of the term writes no more, and no other follows', async () => {
  for (const path of ['app/one', 'app/two']) put(path);
  rotateFully();
  meanwhile = () => rekeying.stop();
  rekeying.start();
  await pass(REKEY_CHECK_MS);
  expect([written, opened, time.armedCount]).toEqual([['VarApplyState'], 1, 0]);
});

it('GC-86: after a write that fails the next batch waits', async () => {
  put('app/one');
  rotateFully();
  let fails = true;
  meanwhile = () => {
    if (fails) throw new Error('no log');
  };
  rekeying.start();
  await pass(REKEY_CHECK_MS);
  fails = false;
  expect(warnings).toEqual(['variables could not be encrypted anew; trying again']);
  await pass(REKEY_RETRY_MS - 1);
  expect([variable('app/one')?.KeyID, opened]).toEqual([OLD, 1]);
  await pass(1);
  expect(variable('app/one')?.KeyID).toBe(NEW);
  rekeying.stop();
});

it('a write that fails because the term has ended is not reported', async () => {
  put('app/one');
  rotateFully();
  meanwhile = () => {
    rekeying.stop();
    throw new Error('no longer the holder');
  };
  rekeying.start();
  await pass(REKEY_CHECK_MS);
  expect([opened, warnings, time.armedCount]).toEqual([1, [], 0]);
});
