import type { Job } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { OWN_STATE } from '../archive/state-restore.js';
import { fixtures } from '../fixtures.js';
import { objectChanges } from '../machine/object-changes.js';
import type { StateMachine } from '../machine/state-machine.js';
import { eventsOf } from '../events.js';

const { aClientUpdate, aGroup, aJob, aMachine, anAlloc, anEval, aNode, aPlanResult, aRegistration, apply, aTask } =
  fixtures;

const SECRET = 'hunter2hunter2';
const BLANK = '<redacted>';
const PATH = ['TaskGroups', 0, 'Tasks', 0, 'Env', 'PASSWORD'];

const aJobWith = (PASSWORD: string): Job => aJob({ TaskGroups: [aGroup({ Tasks: [aTask({ Env: { PASSWORD } })] })] });
const submission = (Source: string) => ({
  Source,
  Format: 'hcl2',
  VariableFlags: null,
  Variables: '',
  Namespace: 'default',
  JobID: 'web',
  Version: 0,
  JobModifyIndex: 0,
});

const register = (machine: StateMachine, job: Job, source: string) =>
  apply(machine, 'JobRegister', aRegistration(job, { Submission: submission(source) }));

/** Version 0 of a job has a secret, and an allocation. */
function withSecret() {
  const machine = aMachine();
  const node = aNode();
  apply(machine, 'NodeRegister', { Node: node, CreateNodePool: false });
  register(machine, aJobWith(SECRET), `env { PASSWORD = "${SECRET}" }`);
  const job = machine.tables.jobs.get('default/web')!;
  const alloc = anAlloc({ Job: job, JobID: job.ID, NodeID: node.ID });
  const evaluation = anEval({ JobID: job.ID });
  apply(machine, 'EvalUpdate', { Evals: [evaluation] });
  apply(machine, 'ApplyPlanResults', aPlanResult({ AllocsUpdated: [alloc], EvalID: evaluation.ID }));
  const end = () =>
    apply(machine, 'AllocClientUpdate', {
      Allocs: [aClientUpdate({ ID: alloc.ID, NodeID: node.ID }, { ClientStatus: 'complete' })],
      Evals: [],
    });
  const stored = () => machine.tables.allocs.get(alloc.ID)!;
  const { Namespace, ID: JobID, CreateIndex, JobModifyIndex } = job;
  const redact = () =>
    apply(machine, 'HistoryRedact', {
      Versions: [{ Namespace, JobID, CreateIndex, Version: 0, Texts: [{ Path: PATH, Text: BLANK }] }],
      Submissions: [{ Namespace, JobID, Version: 0, JobModifyIndex, Texts: [{ Path: ['Source'], Text: BLANK }] }],
      Allocs: [],
    });
  return { machine, job, end, redact, stored };
}

const everything = ({ tables }: StateMachine): string =>
  JSON.stringify(Object.values(tables).map((table) => [...(table as { all(): Iterable<unknown> }).all()]));

describe('redacting the history', () => {
  it('ST-185: a text is replaced in the version, in its submission and in its ended allocations, and nothing else is', () => {
    const { machine, end, redact, stored } = withSecret();
    end();
    register(machine, aJobWith('from a variable'), 'clean');
    const before = stored();
    const { index, verdict } = redact();
    expect(verdict.kind).toBe('accepted');
    expect(everything(machine)).not.toContain(SECRET);
    expect(machine.tables.job_version.get('default/web@0')?.TaskGroups[0]?.Tasks[0]?.Env).toEqual({ PASSWORD: BLANK });
    expect(machine.tables.job_submission.get('default/web@0')?.Source).toBe(BLANK);
    expect(machine.tables.jobs.get('default/web')?.TaskGroups[0]?.Tasks[0]?.Env).toEqual({
      PASSWORD: 'from a variable',
    });
    // Its machine reads an allocation again when this index moves.
    expect(stored()).toEqual({ ...before, ModifyIndex: index, Job: stored().Job });
    expect(stored().Job?.TaskGroups[0]?.Tasks[0]?.Env).toEqual({ PASSWORD: BLANK });
  });

  it('ST-185: a version that the job uses is refused, unless the job is dead', () => {
    const { machine, end, redact } = withSecret();
    end();
    expect(redact().verdict).toMatchObject({ kind: 'refused', code: 'conflict' });
    expect(everything(machine)).toContain(SECRET);
  });

  it('ST-185: a version with a running allocation is refused', () => {
    const { machine, end, redact } = withSecret();
    register(machine, aJobWith('from a variable'), 'clean');
    expect(redact().verdict).toMatchObject({ kind: 'refused', error: expect.stringContaining('runs') });
    end();
    expect(redact().verdict.kind).toBe('accepted');
  });

  it('ST-185: another job of the same name, and its submission, are left alone', () => {
    const { machine, end, redact } = withSecret();
    end();
    const purge = { JobID: 'web', Purge: true, NoShutdownDelay: false, SubmitTime: 0, Eval: null, TrackedVersions: 6 };
    expect(apply(machine, 'JobDeregister', purge, { namespace: 'default' }).verdict.kind).toBe('accepted');
    register(machine, aJobWith('new'), 'the new file');
    expect(redact().verdict.kind).toBe('noop'); // the purge took the allocation along
    expect(machine.tables.jobs.get('default/web')?.TaskGroups[0]?.Tasks[0]?.Env).toEqual({ PASSWORD: 'new' });
    expect(machine.tables.job_submission.get('default/web@0')?.Source).toBe('the new file');
    expect(everything(machine)).not.toContain(SECRET);
  });

  it('ST-185: the version of a dead job is replaced in the job too', () => {
    const { machine, job, end, redact } = withSecret();
    end();
    machine.tables.jobs.replace('default/web', { ...job, Status: 'dead' });
    const applied = redact();
    expect(applied.verdict.kind).toBe('accepted');
    expect(everything(machine)).not.toContain(SECRET);
    const changes = objectChanges(applied);
    expect(changes.map(({ kind, text }) => [kind, text])).toEqual([
      ['job', 'redacted'],
      ['alloc', 'redacted'],
    ]);
    expect(JSON.stringify(changes.map(({ undo }) => undo))).not.toContain(SECRET);
  });

  it('ST-185: a path that leads to no text refuses the whole transaction', () => {
    const { machine, job, end } = withSecret();
    end();
    register(machine, aJobWith('from a variable'), 'clean');
    const { Namespace, ID: JobID, CreateIndex } = job;
    for (const Path of [[...PATH, 'x'], ['TaskGroups', 7], ['__proto__'], ['TaskGroups']]) {
      const Texts = [
        { Path: PATH, Text: BLANK },
        { Path, Text: BLANK },
      ];
      const { verdict } = apply(machine, 'HistoryRedact', {
        Versions: [{ Namespace, JobID, CreateIndex, Version: 0, Texts }],
        Submissions: [],
        Allocs: [],
      });
      expect(verdict).toMatchObject({ kind: 'refused', code: 'conflict' });
    }
    expect(everything(machine)).toContain(SECRET);
  });

  it('ST-185: the history says that it was redacted, and cannot undo it; no event is sent', () => {
    const { machine, end, redact } = withSecret();
    end();
    register(machine, aJobWith('from a variable'), 'clean');
    const applied = redact();
    expect(eventsOf(applied)).toBeNull();
    const changes = objectChanges(applied);
    expect(changes).toMatchObject([{ kind: 'alloc', op: 'update', text: 'redacted' }]);
    expect(JSON.stringify(changes.map(({ undo }) => undo))).not.toContain(SECRET);
  });

  it('ST-186: the state says from which index on the log is kept', () => {
    const machine = aMachine();
    expect(apply(machine, 'HistoryErase', { Padding: '' }).verdict).toMatchObject({
      kind: 'refused',
      code: 'conflict',
    });
    apply(machine, 'ClusterMetadata', { ClusterID: 'one', CreateTime: 1 });
    expect(apply(machine, 'HistoryErase', { Padding: '  ' }).verdict.kind).toBe('noop');
    expect(machine.tables.cluster_meta.get('singleton')?.ErasedBefore).toBeUndefined();
    const { index } = apply(machine, 'HistoryErase', { Padding: '' });
    expect(machine.tables.cluster_meta.get('singleton')).toMatchObject({ ClusterID: 'one', ErasedBefore: index });
    // The projector may not have erased the log yet when an archive is restored.
    apply(machine, 'StateRestore', OWN_STATE);
    expect(machine.tables.cluster_meta.get('singleton')).toMatchObject({
      RestoredIndex: index + 1,
      ErasedBefore: index,
    });
  });
});
