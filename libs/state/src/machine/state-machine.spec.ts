import { describe, expect, it } from 'vitest';
import { TXN_TYPES, type TxnType } from '../log/catalogue.js';
import { stateDigest } from './digest.js';
import { eventsOf } from '../events.js';
import { fixtures } from '../fixtures.js';
import { REQUEST_WINDOW_NS, RequestWindow } from '../log/request-window.js';
import { IndexGapError, NOT_APPLICABLE, StateMachine } from './state-machine.js';
import { UnknownSchemaVersionError } from '../log/upcast.js';

const {
  aClientUpdate,
  aJob,
  aMachine,
  anAlloc,
  anEval,
  aNode,
  aPlanResult,
  aRegisteredJob,
  aRegistration,
  aTxn,
  apply,
} = fixtures;

describe('the log', () => {
  it('ST-7: an index that is not the next one is never applied', () => {
    const machine = aMachine();
    for (const index of [1, 3, 0]) {
      expect(() => machine.apply(aTxn(index, 'Ignore', {}))).toThrow(
        new IndexGapError(2, index), // whose text names both
      );
    }
    expect(machine.appliedIndex).toBe(1);
    machine.apply(aTxn(2, 'Ignore', {}));
    expect(machine.appliedIndex).toBe(2);
  });

  it('ST-1: the mark is the transaction at the applied index; none after one without a request ID, or after a snapshot', () => {
    const machine = new StateMachine();
    expect(machine.mark).toBeUndefined();
    for (const index of [1, 2]) {
      machine.apply(aTxn(index, 'Ignore', {}));
      expect(machine.mark).toEqual({ index, requestId: `request-${index}`, timeNs: fixtures.timeNs });
    }
    machine.apply(aTxn(3, 'Ignore', {}, { requestId: '' }));
    expect(machine.mark).toBeUndefined();
    machine.apply(aTxn(4, 'Ignore', {}));
    machine.startAt(9);
    expect(machine.mark).toBeUndefined();
  });

  it('a payload that an applier fails at is refused everywhere, with nothing of it kept, and the log goes on', () => {
    const machine = aMachine();
    aRegisteredJob(machine);
    const jobs = structuredClone([...machine.tables.jobs.all()]);
    const payload = { Evals: [anEval(), { ...anEval(), FailedTGAllocs: null as never, Status: 'complete' as const }] };
    const broken = aTxn(3, 'EvalUpdate', payload);
    const { verdict, changes, defect } = machine.apply(broken);
    expect([verdict, changes]).toEqual([{ kind: 'refused', code: 'internal', error: NOT_APPLICABLE }, []]);
    expect(defect).toBeInstanceOf(TypeError);
    expect(machine.tables.evals.has(anEval().ID)).toBe(false);
    expect([...machine.tables.jobs.all()]).toEqual(jobs);
    expect(machine.apply(aTxn(4, 'Ignore', {})).verdict.kind).toBe('noop');
    const again = aTxn(5, 'EvalUpdate', payload);
    expect(machine.apply({ ...again, requestId: broken.requestId }).verdict).toEqual(verdict);
  });

  it('ST-8: a payload of a newer schema, or of one from before 0.1.0, stops the machine instead of being guessed at', () => {
    const machine = aMachine();
    const newer = { ...aTxn(2, 'Ignore', {}), schemaVersion: TXN_TYPES.Ignore.schemaVersion + 1 };
    expect(() => machine.apply(newer)).toThrow(/knows up to 1: upgrade it/);
    expect(() => machine.apply({ ...newer, schemaVersion: 0 })).toThrow(/written before version 0\.1\.0/);
    expect(() => machine.apply(newer)).toThrow(UnknownSchemaVersionError);
    expect(machine.appliedIndex).toBe(1);
  });

  it('ST-6: a second copy of a request changes nothing and has the verdict of the first', () => {
    const machine = aMachine();
    const requestId = 'same';
    const first = apply(machine, 'JobRegister', aRegistration(aJob()), { requestId });
    expect(first.verdict.kind).toBe('accepted');
    const second = apply(machine, 'JobRegister', aRegistration(aJob()), { requestId });
    expect(second.verdict).toEqual({ kind: 'noop', result: { firstIndex: first.index } });
    expect(eventsOf(second)).toBeNull();
    expect(machine.tables.jobs.get('default/web')!.Version).toBe(0);
    const refused = { requestId: 'refused' };
    const unknown = { NodeID: 'gone' };
    const error = 'node not found: gone';
    expect(apply(machine, 'NodeDeregister', unknown, refused).verdict).toEqual({
      kind: 'refused',
      code: 'not-found',
      error,
    });
    apply(machine, 'NodeRegister', { Node: aNode({ ID: 'gone' }), CreateNodePool: false });
    expect(apply(machine, 'NodeDeregister', unknown, refused).verdict).toEqual({
      kind: 'refused',
      code: 'not-found',
      error,
    });
    const stale = { requestId: 'stale', fence: { role: 'broker' as const, epoch: 4 } };
    for (let copy = 0; copy < 2; copy++) {
      expect(apply(machine, 'Ignore', {}, stale).verdict).toEqual({ kind: 'void', error: 'stale epoch' });
    }
  });

  it('ST-6: the window ends by envelope time', () => {
    const machine = aMachine();
    const at = (offsetNs: number) =>
      apply(machine, 'JobRegister', aRegistration(aJob()), {
        requestId: 'same',
        timeNs: fixtures.timeNs + offsetNs,
      }).verdict.kind;
    expect(at(0)).toBe('accepted');
    expect(at(REQUEST_WINDOW_NS)).toBe('noop');
    expect(at(2 * REQUEST_WINDOW_NS + 1e9)).toBe('accepted');
  });

  it('ST-6: what is older than the window is forgotten, whatever its number', () => {
    const window = new RequestWindow();
    const step = REQUEST_WINDOW_NS / 100;
    for (let i = 0; i < 20_000; i++) {
      window.remember({ requestId: `r${i}`, index: i, timeNs: i * step, rejected: null });
    }
    expect(window.size).toBe(101);
    expect([...window.entries()].map((entry) => entry.index)).toEqual(
      Array.from({ length: 101 }, (_, i) => 19_899 + i),
    );
    expect(window.find('r19899')?.index).toBe(19_899);
    expect(window.find('r19898')).toBeUndefined();
  });
});

describe('atomicity', () => {
  it('ST-5 ST-9 DP-1802, ST-28: a refusal takes everything back, secondary indexes and table indexes too', () => {
    const machine = aMachine();
    const { job, evaluation } = aRegisteredJob(machine);
    const node = aNode();
    apply(machine, 'NodeRegister', { Node: node, CreateNodePool: false });
    const old = anAlloc({ Job: job, NodeID: node.ID, FollowupEvalID: 'f' });
    apply(machine, 'ApplyPlanResults', aPlanResult({ AllocsUpdated: [old], EvalID: evaluation.ID }));
    const before = stateDigest(machine);
    const indexes = () => ({
      live: machine.tables.allocs.count('live', 'default/web'),
      followup: machine.tables.allocs.count('followup', 'f'),
      onNode: [...machine.tables.allocs.by('node', node.ID)].map((row) => row.ID),
      open: machine.tables.evals.count('open', 'default/web'),
      active: machine.tables.deployment.count('active', 'default/web'),
      tables: Object.values(machine.tables).map((table) => [table.name, table.tableIndex]),
    });
    const was = indexes();
    const refused = apply(
      machine,
      'ApplyPlanResults',
      aPlanResult({
        EvalID: evaluation.ID,
        IneligibleNodes: [node.ID],
        Deployment: fixtures.aDeployment(),
        AllocsUpdated: [
          anAlloc({ Job: job, NodeID: node.ID, PreviousAllocation: old.ID }),
          { ...old, ClientStatus: 'lost' },
        ],
        AllocsStopped: [{ ID: 'gone', DesiredDescription: '', ClientStatus: '', FollowupEvalID: '' }],
      }),
    );
    expect(refused.verdict).toEqual({ kind: 'refused', code: 'not-found', error: "alloc gone doesn't exist" });
    expect(refused.changes).toEqual([]);
    expect(eventsOf(refused)).toBeNull();
    expect(indexes()).toEqual(was);
    expect(machine.appliedIndex).toBe(refused.index);
    machine.startAt(refused.index - 1);
    expect(stateDigest(machine)).toBe(before);
  });

  it('ST-27: a table index moves when a row changed, and only then', () => {
    const machine = aMachine();
    aRegisteredJob(machine);
    const moved = (name: 'jobs' | 'evals' | 'allocs' | 'job_summary' | 'namespaces') => machine.tables[name].tableIndex;
    expect([moved('jobs'), moved('evals'), moved('job_summary'), moved('allocs'), moved('namespaces')]).toEqual([
      2, 2, 2, 0, 1,
    ]);
    apply(machine, 'EvalDelete', { EvalIDs: ['gone'], AllocIDs: ['gone'], ScanIndex: 9, UserInitiated: false });
    expect([moved('evals'), moved('allocs')]).toEqual([2, 0]);
  });

  it('EV-1: one event per row, in the order of the last write, and none for a row that came and went', () => {
    const machine = aMachine();
    const { job, evaluation } = aRegisteredJob(machine);
    const [first, second] = [anAlloc({ Job: job }), anAlloc({ Job: job })];
    const replacement = anAlloc({ Job: job, PreviousAllocation: first.ID });
    const applied = apply(
      machine,
      'ApplyPlanResults',
      aPlanResult({ EvalID: evaluation.ID, AllocsUpdated: [first, second, replacement] }),
    );
    const allocs = eventsOf(applied)!.Events.filter((event) => event.Topic === 'Allocation');
    expect(allocs.map((event) => event.Key)).toEqual([second.ID, replacement.ID, first.ID]);
    expect(allocs.at(-1)!.Payload['Allocation']).toMatchObject({ NextAllocation: replacement.ID });
    const rows = applied.changes.map((change) => `${change.table} ${change.key}`);
    expect(new Set(rows).size).toBe(rows.length);
  });

  it('ST-143: rows handed out before a transaction stay as they were', () => {
    const machine = aMachine();
    const { job, evaluation } = aRegisteredJob(machine);
    const alloc = anAlloc({ Job: job });
    apply(machine, 'ApplyPlanResults', aPlanResult({ AllocsUpdated: [alloc], EvalID: evaluation.ID }));
    const held = Object.values(machine.tables).flatMap((table): object[] => [...table.all()]);
    const text = JSON.stringify(held);
    apply(machine, 'AllocClientUpdate', { Allocs: [aClientUpdate(alloc)], Evals: [anEval()] });
    apply(machine, 'JobRegister', aRegistration(aJob()));
    expect(JSON.stringify(held)).toBe(text);
  });
});

describe('catalogue', () => {
  it('ST-21 ST-184 EV-3 DP-1301: a transaction of type 128, and every type without an event type, emits nothing', () => {
    expect(TXN_TYPES.Ignore.number).toBe(128);
    expect(TXN_TYPES.NodeRegister.number).toBe(0);
    const silent = (Object.keys(TXN_TYPES) as TxnType[]).filter((type) => TXN_TYPES[type].eventType === null);
    expect(silent).toEqual([
      'EvalDelete',
      'ReconcileJobSummaries',
      'DeploymentDelete',
      'JobStability',
      'JobVersionTag',
      'ScalingEventRegister',
      'SchedulerConfig',
      'ClusterMetadata',
      'CSIPluginDelete',
      'TaskGroupHostVolumeClaimDelete',
      'NamespaceUpsert',
      'NamespaceDelete',
      'ACLTokenBootstrap',
      'OneTimeTokenUpsert',
      'OneTimeTokenDelete',
      'OneTimeTokenExpire',
      'RootKeyUpsert',
      'RootKeyDelete',
      'LeaseAcquired',
      'StateRestore',
      'RootKeyRewrap',
      'NodeIntroduction',
      'ACLTokenRekey',
      'HistoryRedact',
      'HistoryErase',
      'Initialise',
      'Ignore',
    ]);
    const applied = new StateMachine().apply(aTxn(1, 'Initialise', {}));
    expect(applied.changes.length).toBeGreaterThan(0);
    for (const type of silent) {
      expect(eventsOf({ ...applied, txn: { ...applied.txn, type } as typeof applied.txn })).toBeNull();
    }
  });

  it('ST-20: numbers of its own lie between 100 and 126', () => {
    const own = Object.values(TXN_TYPES)
      .map((info) => info.number)
      .filter((number) => number >= 100 && number < 127);
    expect(own).toEqual([100, 101, 102, 103, 104, 105, 106]);
    expect(new Set(Object.values(TXN_TYPES).map((info) => info.number)).size).toBe(Object.keys(TXN_TYPES).length);
  });
});
