import { type RootKey, SimulatedTime } from '@waybill/model';
import { LocalState } from '@waybill/replica';
import { HolderWriter } from '@waybill/roles';
import { draftTxn, fixtures, serviceActor, type TxnPayloads, type TxnType } from '@waybill/state';
import { silentLogger } from '@waybill/telemetry';
import { beforeEach, expect, it } from 'vitest';
import { REFRESH_MS, REWRAP_CHECK_MS, REWRAP_RETRY_MS, RootKeyRewrapping } from './root-key-rewrapping.js';

const { aRootKey, uuid } = fixtures;
const [A, B, C] = [uuid(0xa), uuid(0xb), uuid(0xc)];

let time: SimulatedTime;
let state: LocalState;
let ids: number;
/** Keys that cannot be unwrapped now. */
let unusable: Set<string>;
let asked: string[];
let rewrapping: RootKeyRewrapping;
let warnings: string[];
/** Root keys that an older version of the service's key wrapped, as the rewrapper learns at a refresh. */
let outdated: Set<string>;
let refreshes: number;
let refreshFails: boolean;
/** Happens while a key is being wrapped. */
let meanwhile: () => void;

function write<T extends TxnType>(type: T, payload: TxnPayloads[T]): void {
  const context = { timeNs: fixtures.timeNs, requestId: `test-${++ids}`, actor: serviceActor('test') };
  void state.propose(draftTxn(type, payload, context));
}

beforeEach(() => {
  time = new SimulatedTime();
  state = new LocalState();
  [ids, unusable, asked, warnings, meanwhile] = [0, new Set(), [], [], () => {}];
  [outdated, refreshes, refreshFails] = [new Set(), 0, false];
  write('Initialise', {});
  write('LeaseAcquired', { Role: 'broker', Epoch: 1, Holder: 'test' });
  for (const KeyID of [B, A]) write('RootKeyUpsert', { Key: aRootKey({ KeyID }), Rekey: false, MustExist: false });
  const Wrapped = { Provider: 'transit', Data: 'of before' };
  write('RootKeyUpsert', { Key: aRootKey({ KeyID: C, Wrapped }), Rekey: false, MustExist: false });
  const logger = { ...silentLogger, warn: (message: string) => void warnings.push(message) };
  const deps = { clock: time, timers: time, newId: () => `id-${++ids}`, region: 'global', logger };
  const writer = new HolderWriter({ ...deps, state }, { role: 'broker', epoch: 1 });
  const rewrapper = {
    needsRewrapping: ({ Wrapped: { Provider, Data } }: RootKey) => Provider !== 'transit' || outdated.has(Data),
    refreshWrapper: () => {
      refreshes++;
      if (refreshFails) return Promise.reject(new Error('away'));
      outdated.add('of before');
      return Promise.resolve();
    },
    rewrapped: ({ KeyID }: RootKey) => {
      asked.push(KeyID);
      meanwhile();
      return unusable.has(KeyID)
        ? Promise.reject(new Error('away'))
        : Promise.resolve({ Provider: 'transit', Data: 'new' });
    },
  };
  rewrapping = new RootKeyRewrapping({ ...deps, tables: state.tables, writer, rewrapper });
  rewrapping.start();
});

async function elapse(ms: number): Promise<void> {
  time.advance(ms);
  await new Promise((resolve) => setImmediate(resolve));
}
const wrapped = () =>
  Object.fromEntries([...state.tables.root_keys.all()].map(({ KeyID, Wrapped }) => [KeyID, Wrapped.Data]));

it('OP-210: root keys of another wrapper are wrapped anew, once, and the others left alone', async () => {
  await elapse(REWRAP_CHECK_MS);
  expect(wrapped()).toEqual({ [A]: 'new', [B]: 'new', [C]: 'of before' });
  await elapse(REWRAP_CHECK_MS);
  expect(asked).toEqual([A, B]);
  write('RootKeyUpsert', { Key: aRootKey({ KeyID: uuid(0xd) }), Rekey: false, MustExist: false });
  await elapse(REWRAP_CHECK_MS);
  expect(asked).toEqual([A, B, uuid(0xd)]);
});

it('a key that fails stays as it is, holds no other up, and is tried again later', async () => {
  unusable.add(A);
  await elapse(REWRAP_CHECK_MS);
  expect(wrapped()).toEqual({ [A]: 'wrapped', [B]: 'new', [C]: 'of before' });
  expect(warnings).toEqual(['a root key could not be wrapped anew']);
  unusable.clear();
  await elapse(REWRAP_CHECK_MS);
  expect(asked).toEqual([A, B]);
  await elapse(REWRAP_RETRY_MS);
  expect(wrapped()).toEqual({ [A]: 'new', [B]: 'new', [C]: 'of before' });
});

it('nothing is wrapped after the term has ended', async () => {
  rewrapping.stop();
  await elapse(REWRAP_RETRY_MS);
  expect(asked).toEqual([]);
});

it.each([
  ['is wrapped', []],
  ['cannot be wrapped', [A]],
])(
  'nothing is written or reported when the term ends while a key %s, and no other key is asked for',
  async (_, fail) => {
    for (const key of fail) unusable.add(key);
    meanwhile = () => rewrapping.stop();
    await elapse(REWRAP_CHECK_MS);
    expect([asked, warnings, wrapped()]).toEqual([[A], [], { [A]: 'wrapped', [B]: 'wrapped', [C]: 'of before' }]);
    expect(time.armedCount).toBe(0);
  },
);

it('OP-210: what an older version of the service’s key wrapped is wrapped anew after the next refresh', async () => {
  for (let ms = 0; ms < REFRESH_MS - REWRAP_CHECK_MS; ms += REWRAP_CHECK_MS) await elapse(REWRAP_CHECK_MS);
  expect([refreshes, asked]).toEqual([0, [A, B]]);
  refreshFails = true;
  await elapse(REWRAP_CHECK_MS);
  expect([refreshes, asked, warnings]).toEqual([
    1,
    [A, B],
    ['the key management service does not say which version of its key wraps'],
  ]);
  refreshFails = false;
  for (let ms = 0; ms < REFRESH_MS; ms += REWRAP_CHECK_MS) await elapse(REWRAP_CHECK_MS);
  expect([refreshes, asked]).toEqual([2, [A, B, C]]);
  expect(wrapped()).toEqual({ [A]: 'new', [B]: 'new', [C]: 'new' });
});
