import { ROOT_KEY_COLLECTION_NS, ROOT_KEY_ROTATION_NS, type RootKey, SimulatedTime } from '@waybill/model';
import { LocalState } from '@waybill/replica';
import { HolderWriter } from '@waybill/roles';
import { draftTxn, fixtures, serviceActor, type TxnPayloads, type TxnType } from '@waybill/state';
import { silentLogger } from '@waybill/telemetry';
import { beforeEach, describe, expect, it } from 'vitest';
import { RootKeyRotation, ROTATION_CHECK_MS, rotationStepOf } from './root-key-rotation.js';

const { aRootKey, uuid } = fixtures;
const [A, B, C] = [uuid(0xa), uuid(0xb), uuid(0xc)];

let time: SimulatedTime;
let state: LocalState;
let ids: number;

beforeEach(() => {
  time = new SimulatedTime();
  state = new LocalState();
  ids = 0;
  write('Initialise', {});
  write('LeaseAcquired', { Role: 'broker', Epoch: 1, Holder: 'test' });
});

function write<T extends TxnType>(type: T, payload: TxnPayloads[T]): void {
  const context = { timeNs: fixtures.timeNs, requestId: `test-${++ids}`, actor: serviceActor('test') };
  void state.propose(draftTxn(type, payload, context));
}
const nowNs = (): number => time.nowMs() * 1e6;
const put = (key: Partial<RootKey>, Rekey = false): void =>
  write('RootKeyUpsert', { Key: aRootKey({ CreateTime: nowNs(), ...key }), Rekey, MustExist: false });
const states = () => Object.fromEntries([...state.tables.root_keys.all()].map(({ KeyID, State }) => [KeyID, State]));
const due = (afterNs: number) => rotationStepOf(state.tables, nowNs() + afterNs);

it('GC-82: at half the rotation threshold a key is prepublished for the end of the active one, once', () => {
  put({ KeyID: A });
  expect(due(ROOT_KEY_ROTATION_NS / 2)).toEqual({ kind: 'nothing' });
  const publishTime = nowNs() + ROOT_KEY_ROTATION_NS;
  expect(due(ROOT_KEY_ROTATION_NS / 2 + 1e9)).toEqual({ kind: 'prepublish', publishTime });
  put({ KeyID: B, State: 'prepublished', PublishTime: publishTime });
  expect(due(ROOT_KEY_ROTATION_NS / 2 + 1e9)).toEqual({ kind: 'nothing' });
});

it('GC-83: the earliest prepublished key becomes active at its time, a later one stays', () => {
  put({ KeyID: A });
  put({ KeyID: B, State: 'prepublished', PublishTime: nowNs() + 2e9 });
  put({ KeyID: C, State: 'prepublished', PublishTime: nowNs() + 1e9 });
  expect(due(0)).toEqual({ kind: 'nothing' });
  expect(due(3e9)).toMatchObject({ kind: 'promote', key: { KeyID: C } });
});

it('GC-79, GC-80, GC-81: collects old inactive keys that nothing needs, and nothing else', () => {
  put({ KeyID: A });
  put({ KeyID: B });
  put({ KeyID: C, CreateTime: nowNs() + ROOT_KEY_ROTATION_NS });
  const old = ROOT_KEY_ROTATION_NS + ROOT_KEY_COLLECTION_NS;
  expect(due(old)).toEqual({ kind: 'nothing' });
  expect(due(old + 1e9)).toEqual({ kind: 'collect', keyIds: [A, B] });
  write('NodeRegister', { Node: fixtures.aNode({ IdentitySigningKeyID: A }), CreateNodePool: false });
  expect(due(old + 1e9)).toEqual({ kind: 'collect', keyIds: [B] });
  put({ KeyID: uuid(0xd), CreateTime: nowNs() + ROOT_KEY_ROTATION_NS }, true);
  expect(due(old + 1e9)).toEqual({ kind: 'nothing' });
});

it('GC-80, GC-82: the times follow the settings', () => {
  put({ KeyID: A });
  put({ KeyID: B });
  const HOUR_NS = 3_600e9;
  const times = { rotationNs: 10 * HOUR_NS, collectionNs: 2 * HOUR_NS };
  const dueBy = (afterNs: number) => rotationStepOf(state.tables, nowNs() + afterNs, times);
  expect(dueBy(5 * HOUR_NS)).toEqual({ kind: 'nothing' });
  expect(dueBy(5 * HOUR_NS + 1e9)).toEqual({ kind: 'prepublish', publishTime: nowNs() + times.rotationNs });
  put({ KeyID: C, State: 'prepublished', PublishTime: nowNs() + 20 * HOUR_NS });
  expect(dueBy(12 * HOUR_NS)).toEqual({ kind: 'nothing' });
  expect(dueBy(12 * HOUR_NS + 1e9)).toEqual({ kind: 'collect', keyIds: [A] });
});

it('OP-214, AU-183: a month passes: the holder prepublishes, promotes and collects by itself, one step at a time', async () => {
  put({ KeyID: A });
  const deps = { clock: time, timers: time, newId: () => uuid(0x100 + ++ids), region: 'global', logger: silentLogger };
  const writer = new HolderWriter({ ...deps, state }, { role: 'broker', epoch: 1 });
  const makeRootKey = (said: Partial<RootKey>) => Promise.resolve(aRootKey(said));
  const upkeep = new RootKeyRotation({ ...deps, tables: state.tables, writer, makeRootKey });
  upkeep.start();
  const seen: string[] = [];
  for (let steps = 0; steps < (1_500 * 3_600_000) / ROTATION_CHECK_MS; steps++) {
    time.advance(ROTATION_CHECK_MS);
    await new Promise((resolve) => setImmediate(resolve));
    const now = Object.values(states()).toSorted().join(' ');
    if (now !== seen.at(-1)) seen.push(now);
  }
  expect(seen.slice(0, 5)).toEqual([
    'active',
    'active prepublished',
    'active inactive',
    'active inactive prepublished',
    'active prepublished',
  ]);
  expect(states()[A]).toBeUndefined();
  upkeep.stop();
  expect(time.armedCount).toBe(0);
}, 30_000);

it('GC-79: a keyring with keys and no active one is reported, one without keys is not', () => {
  expect(due(0)).toEqual({ kind: 'nothing' });
  state.tables.root_keys.replace(A, aRootKey({ KeyID: A, State: 'inactive' }) as RootKey);
  expect(due(0)).toEqual({ kind: 'noActiveKey' });
});

it('GC-84: old keys are collected in one order, whichever was made first', () => {
  const old = { CreateTime: nowNs() - ROOT_KEY_ROTATION_NS - ROOT_KEY_COLLECTION_NS - 1e9 };
  put({ KeyID: C });
  for (const KeyID of [B, A])
    state.tables.root_keys.replace(KeyID, aRootKey({ KeyID, State: 'inactive', ...old }) as RootKey);
  expect(due(0)).toEqual({ kind: 'collect', keyIds: [A, B] });
});

describe('a step of the rotation', () => {
  let fails: Error | undefined;
  let meanwhile: () => void;
  let warnings: string[];

  const rotation = (withKey = true): RootKeyRotation => {
    [fails, meanwhile, warnings] = [undefined, () => {}, []];
    const logger = { ...silentLogger, warn: (message: string) => void warnings.push(message) };
    const deps = { clock: time, timers: time, newId: () => C, region: 'global', logger };
    const writer = new HolderWriter({ ...deps, state }, { role: 'broker', epoch: 1 });
    const makeRootKey = async (said: Partial<RootKey>) => {
      meanwhile();
      if (fails) throw fails;
      return aRootKey(said);
    };
    return new RootKeyRotation({
      ...deps,
      tables: state.tables,
      writer,
      makeRootKey: withKey ? makeRootKey : undefined,
    });
  };
  const check = async (): Promise<void> => {
    time.advance(ROTATION_CHECK_MS);
    await new Promise((resolve) => setImmediate(resolve));
  };

  it('OP-214: that fails is tried again at the next check', async () => {
    put({ KeyID: A, CreateTime: nowNs() - ROOT_KEY_ROTATION_NS });
    const upkeep = rotation();
    fails = new Error('the service that wraps keys is away');
    upkeep.start();
    await check();
    expect(states()).toEqual({ [A]: 'active' });
    expect(warnings).toEqual(['a step of the root key rotation failed']);
    fails = undefined;
    await check();
    expect(states()).toEqual({ [A]: 'active', [C]: 'prepublished' });
    upkeep.stop();
  });

  it('whose key is ready only after the end of the term is not written', async () => {
    put({ KeyID: A, CreateTime: nowNs() - ROOT_KEY_ROTATION_NS });
    const upkeep = rotation();
    upkeep.start();
    meanwhile = () => upkeep.stop();
    await check();
    expect(states()).toEqual({ [A]: 'active' });
    expect(time.armedCount).toBe(0);
  });

  it('that fails because the term has ended is not reported', async () => {
    put({ KeyID: A, CreateTime: nowNs() - ROOT_KEY_ROTATION_NS });
    const upkeep = rotation();
    upkeep.start();
    fails = new Error('no longer the holder');
    meanwhile = () => upkeep.stop();
    await check();
    expect(warnings).toEqual([]);
  });

  it('OP-210: is never made without a wrapping key', () => {
    rotation(false).start();
    expect(time.armedCount).toBe(0);
  });
});
