import { CORE_TYPE, FakeTime, type PeriodicConfig } from '@waybill/model';
import { LocalState } from '@waybill/replica';
import { termOf } from '@waybill/roles';
import { draftTxn, fixtures, serviceActor, type TxnPayloads, type TxnType } from '@waybill/state';
import { silentLogger, tracerFor } from '@waybill/telemetry';
import { beforeEach, describe, expect, it } from 'vitest';
import { Broker } from './broker.js';
import { ROTATION_CHECK_MS } from './housekeeping/root-key-rotation.js';
import { REKEY_CHECK_MS } from './housekeeping/variable-rekeying.js';
import { CANCEL_SWEEP_MS } from './housekeeping/reapers.js';

const MINUTE_MS = 60_000;
const TTL_MS = 10_000;
const [OLD, ACTIVE, DUE] = [fixtures.uuid(0xa), fixtures.uuid(0xb), fixtures.uuid(0xc)];

let time: FakeTime;
let state: LocalState;
let broker: Broker;
let ids: number;
/** Keys that were asked for. */
let made: string[];

beforeEach(() => {
  time = new FakeTime();
  state = new LocalState();
  [ids, made] = [0, []];
  broker = new Broker({
    state,
    clock: time,
    timers: time,
    newId: () => fixtures.uuid(0x1000 + ++ids),
    random: () => 0,
    logger: silentLogger,
    tracer: () => tracerFor('test'),
    region: 'global',
    nextLaunchMs: (_: PeriodicConfig, afterMs: number) => (Math.floor(afterMs / MINUTE_MS) + 1) * MINUTE_MS,
    makeRootKey: async (specification) => {
      made.push(specification.State);
      return fixtures.aRootKey(specification);
    },
    sealer: { openItems: async () => ({}), sealItems: async () => ({ KeyID: ACTIVE, Data: '' }) },
  });
  state.onApplied((applied) => broker.applied(applied));
  write('Initialise', {});
  write('LeaseAcquired', { Role: 'broker', Epoch: 1, Holder: 'test' });
});

function write<T extends TxnType>(type: T, payload: TxnPayloads[T]): void {
  const context = { timeNs: time.nowMs() * 1e6, requestId: `test-${++ids}`, actor: serviceActor('test') };
  void state.propose(draftTxn(type, payload, { ...context, namespace: 'default' }));
}
const hold = (): Promise<void> => broker.start(termOf('broker', 1));
const stateOf = (key: string) => state.tables.root_keys.get(key)?.State;

/** A cluster in which every part of the holder's housekeeping has something to do. */
function begun(): void {
  const CreateTime = time.nowMs() * 1e6;
  const put = (KeyID: string, State: 'active' | 'prepublished', Rekey = false): void =>
    write('RootKeyUpsert', {
      Key: fixtures.aRootKey({ KeyID, State, CreateTime, PublishTime: State === 'active' ? 0 : CreateTime }),
      Rekey,
      MustExist: false,
    });
  put(OLD, 'active');
  put(ACTIVE, 'active', true);
  put(DUE, 'prepublished');
  const Lock = { ID: 'mine', TTL: TTL_MS * 1e6, LockDelay: 0 };
  write('VarApplyState', { Op: 'lock-acquire', Path: 'leader', Lock, KeyID: ACTIVE, Data: 'sealed' });
  const Periodic = { Enabled: true, Spec: 'every minute', SpecType: 'cron', ProhibitOverlap: false, TimeZone: 'UTC' };
  const job = fixtures.aJob({ ID: 'cron', Type: 'batch', Periodic: { ...Periodic, Specs: null } as PeriodicConfig });
  write('JobRegister', fixtures.aRegistration(job));
}

describe('what the holder does by the clock', () => {
  it('EB-135, EB-145: begins with its term', async () => {
    begun();
    await hold();
    await time.pass(REKEY_CHECK_MS);
    expect(stateOf(OLD)).toBe('inactive');
    await time.pass(2 * TTL_MS);
    expect(state.tables.variables.get('default/leader')?.Lock).toBeNull();
    await time.pass(MINUTE_MS);
    expect([...state.tables.jobs.all()].filter(({ ParentID }) => ParentID === 'cron')).not.toEqual([]);
    await time.pass(ROTATION_CHECK_MS);
    expect(stateOf(DUE)).toBe('active');
    expect(broker.evals.stats().byScheduler[CORE_TYPE]).toMatchObject({ ready: 11 });
  });

  it('EB-141: ends with its term', async () => {
    begun();
    await hold();
    expect(time.pending).toBeGreaterThan(0);
    await broker.stop();
    expect(time.pending).toBe(0);
  });

  it('EB-96: superseded evaluations are canceled at the next sweep', async () => {
    await hold();
    const anEval = () => {
      const evaluation = fixtures.anEval();
      write('EvalUpdate', { Evals: [evaluation] });
      return evaluation;
    };
    anEval();
    const { evaluation, token } = (await broker.dequeue(['service'], 1))!;
    const older = anEval();
    anEval();
    broker.evals.ack(evaluation.ID, token);
    await time.pass(CANCEL_SWEEP_MS);
    const left = [...state.tables.evals.all()].filter(({ Status }) => Status === 'canceled');
    expect(left).toHaveLength(1);
    expect(older.Status).toBe('pending');
  });
});

describe('the first root key', () => {
  it('OP-210, OP-216: is there before the term has begun', async () => {
    await hold();
    expect([made, state.tables.root_keys.size]).toEqual([['active'], 1]);
  });

  it('OP-216: that is made only after the end of the term is not written', async () => {
    const held = hold();
    const ended = broker.stop();
    await held;
    await ended;
    expect(state.tables.root_keys.size).toBe(0);
  });
});
