import { SimulatedTime } from '@waybill/model';
import { LocalState } from '@waybill/replica';
import { HolderWriter } from '@waybill/roles';
import { draftTxn, fixtures, serviceActor } from '@waybill/state';
import { silentLogger } from '@waybill/telemetry';
import { beforeEach, expect, it } from 'vitest';
import { FIRST_KEY_RETRY_MS, FirstRootKey, type MakeRootKey } from './first-root-key.js';

const { aRootKey } = fixtures;

let time: SimulatedTime;
let state: LocalState;
let ids: number;
const make: MakeRootKey = (said) => Promise.resolve(aRootKey(said));

beforeEach(() => {
  time = new SimulatedTime();
  state = new LocalState();
  ids = 0;
  const context = { timeNs: fixtures.timeNs, requestId: 'test', actor: serviceActor('test') };
  for (const draft of [
    draftTxn('Initialise', {}, context),
    draftTxn('LeaseAcquired', { Role: 'broker', Epoch: 1, Holder: 'test' }, { ...context, requestId: 'lease' }),
  ])
    void state.propose(draft);
});

function keeper(makeRootKey: MakeRootKey | undefined): FirstRootKey {
  const deps = { clock: time, timers: time, newId: () => `id-${++ids}`, region: 'global', logger: silentLogger };
  const writer = new HolderWriter({ ...deps, state }, { role: 'broker', epoch: 1 });
  return new FirstRootKey({ ...deps, tables: state.tables, writer, makeRootKey });
}

async function elapse(): Promise<void> {
  time.advance(FIRST_KEY_RETRY_MS);
  await new Promise((resolve) => setImmediate(resolve));
}

const keys = (): unknown[] => [...state.tables.root_keys.all()].map(({ KeyID, State }) => [KeyID, State]);

it('OP-210, OP-216: the first holder makes an active key before its term has begun, a later one none', async () => {
  await keeper(make).start();
  const made = keys();
  expect(made).toEqual([[expect.stringContaining('id-'), 'active']]);
  await keeper(() => Promise.reject(new Error('asked for a second key'))).start();
  expect(keys()).toEqual(made);
});

it('without a wrapping key there is none', async () => {
  await keeper(undefined).start();
  expect(keys()).toEqual([]);
});

it('a key management service that is away keeps nobody from the role, and is asked again until the term ends', async () => {
  let away = true;
  const first = keeper((said) => (away ? Promise.reject(new Error('away')) : make(said)));
  await first.start();
  expect(keys()).toEqual([]);
  await elapse();
  expect(keys()).toEqual([]);
  away = false;
  await elapse();
  expect(keys()).toHaveLength(1);

  const over = keeper(() => Promise.reject(new Error('away')));
  state.tables.root_keys.replace([...state.tables.root_keys.all()][0]!.KeyID, undefined);
  await over.start();
  over.stop();
  expect(time.armedCount).toBe(0);
});

it('OP-210: a key that another holder made meanwhile is the first one', async () => {
  const other = aRootKey();
  await keeper(async (said) => {
    state.tables.root_keys.replace(other.KeyID, { ...other, CreateIndex: 1, ModifyIndex: 1 });
    return aRootKey(said);
  }).start();
  expect(keys()).toEqual([[other.KeyID, 'active']]);
});

it('OP-216: an attempt that fails after the end of the term is not repeated', async () => {
  const over: FirstRootKey = keeper(() => {
    over.stop();
    return Promise.reject(new Error('away'));
  });
  await over.start();
  expect(time.armedCount).toBe(0);
  await over.start();
  expect(keys()).toEqual([]);
});
