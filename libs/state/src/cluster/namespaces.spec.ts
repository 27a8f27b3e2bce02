import { describe, expect, it } from 'vitest';
import { fixtures } from '../fixtures.js';
import type { StateMachine } from '../machine/state-machine.js';

const { aJob, aMachine, aNamespace, anAlloc, anEval, aPlanResult, aRegistration, apply } = fixtures;

const withTeam = (): StateMachine => {
  const machine = aMachine();
  apply(machine, 'NamespaceUpsert', { Namespaces: [aNamespace({ Name: 'team', Description: 'ours' })] });
  return machine;
};
const remove = (machine: StateMachine, ...Names: string[]) => apply(machine, 'NamespaceDelete', { Names });

describe('namespaces', () => {
  it('ST-23 ST-24: changing one keeps its CreateIndex; its hash says whether it says something else', () => {
    const machine = withTeam();
    const first = machine.tables.namespaces.get('team')!;
    apply(machine, 'NamespaceUpsert', { Namespaces: [aNamespace({ Name: 'team', Description: 'ours' })] });
    const same = machine.tables.namespaces.get('team')!;
    apply(machine, 'NamespaceUpsert', { Namespaces: [aNamespace({ Name: 'team', Description: 'theirs' })] });
    const other = machine.tables.namespaces.get('team')!;
    expect(same).toMatchObject({ CreateIndex: first.CreateIndex, Hash: first.Hash });
    expect(same.ModifyIndex).toBeGreaterThan(first.ModifyIndex);
    expect(other.Hash).not.toBe(first.Hash);
  });

  it('OP-175: the default one stays', () => {
    expect(remove(aMachine(), 'default').verdict).toMatchObject({ error: 'default namespace can not be deleted' });
  });

  it('OP-180: an unknown one, and one in which something lives, are refused; nothing of the transaction stays', () => {
    const machine = withTeam();
    expect(remove(machine, 'team', 'nowhere').verdict).toMatchObject({ error: 'namespace not found' });
    const job = aJob({ ID: 'web', Namespace: 'team' });
    const evaluation = anEval({ Namespace: 'team', JobID: 'web' });
    apply(machine, 'JobRegister', aRegistration(job, { Eval: evaluation }), { namespace: 'team' });
    expect(remove(machine, 'team').verdict).toMatchObject({
      error: '1 error occurred:\n\t* namespace "team" has non-terminal jobs in regions: [global]\n\n',
    });
    const alloc = anAlloc({ Namespace: 'team', JobID: 'web', ClientStatus: 'running', DesiredStatus: 'stop' });
    const placed = apply(
      machine,
      'ApplyPlanResults',
      aPlanResult({ Job: job, AllocsUpdated: [alloc], EvalID: evaluation.ID }),
    );
    expect(placed.verdict).toEqual({ kind: 'accepted' });
    expect(remove(machine, 'team').verdict).toMatchObject({
      error: expect.stringContaining('\t* namespace "team" has non-terminal allocations in regions: [global]\n'),
    });
    expect(machine.tables.namespaces.has('team')).toBe(true);
  });

  it('OP-180: volumes and variables keep their namespace, each of them named; what is in another one does not', () => {
    const machine = withTeam();
    const { job } = fixtures.aRegisteredJob(machine);
    const theirs = anAlloc({ Job: job, ClientStatus: 'running' });
    machine.tables.allocs.replace(theirs.ID, theirs);
    const { csi_volumes, host_volumes, variables } = machine.tables;
    const says = (user: string) =>
      expect(remove(machine, 'team').verdict).toMatchObject({
        code: 'conflict',
        error: expect.stringContaining(`namespace "team" has ${user} `),
      });
    csi_volumes.replace('team/v', fixtures.aCSIVolume({ ID: 'v', Namespace: 'team' }));
    says('volumes associated with it');
    const alloc = anAlloc({ Namespace: 'team', ClientStatus: 'running' });
    machine.tables.allocs.replace(alloc.ID, alloc);
    variables.replace('team/v', fixtures.aVariable({ Path: 'v', Namespace: 'team' }));
    expect(remove(machine, 'team').verdict).toMatchObject({
      error: expect.stringMatching(/non-terminal allocations .*volumes associated .*variables associated /s),
    });
    machine.tables.allocs.replace(alloc.ID, undefined);
    variables.replace('team/v', undefined);
    csi_volumes.replace('team/v', undefined);
    const host = fixtures.aHostVolume({ Namespace: 'team' });
    host_volumes.replace(`team/${host.ID}`, host);
    says('volumes associated with it');
    host_volumes.replace(`team/${host.ID}`, undefined);
    variables.replace('team/v', fixtures.aVariable({ Path: 'v', Namespace: 'team' }));
    says('variables associated with it');
    variables.replace('team/v', undefined);
    expect(remove(machine, 'team').verdict.kind).toBe('accepted');
  });

  it('OP-180: an allocation that has ended on its machine keeps no namespace; dead jobs go in the order of their IDs', () => {
    const machine = withTeam();
    for (const ID of ['c', 'a', 'b']) {
      apply(machine, 'JobRegister', aRegistration(aJob({ ID, Namespace: 'team' })), { namespace: 'team' });
      const stop = { JobID: ID, Purge: false, NoShutdownDelay: false, SubmitTime: 1, Eval: null, TrackedVersions: 6 };
      apply(machine, 'JobDeregister', stop, { namespace: 'team' });
    }
    const ended = anAlloc({ Namespace: 'team', JobID: 'a', ClientStatus: 'complete' });
    machine.tables.allocs.replace(ended.ID, ended);
    const { changes } = remove(machine, 'team');
    expect(changes.filter(({ table }) => table === 'jobs').map(({ key }) => key)).toEqual([
      'team/a',
      'team/b',
      'team/c',
    ]);
  });

  it('OP-183: dead jobs go with their namespace', () => {
    const machine = withTeam();
    const job = aJob({ ID: 'done', Namespace: 'team' });
    apply(machine, 'JobRegister', aRegistration(job), { namespace: 'team' });
    apply(
      machine,
      'JobDeregister',
      { JobID: 'done', Purge: false, NoShutdownDelay: false, SubmitTime: 1, Eval: null, TrackedVersions: 6 },
      { namespace: 'team' },
    );
    expect(machine.tables.jobs.get('team/done')?.Status).toBe('dead');
    expect(remove(machine, 'team').verdict.kind).toBe('accepted');
    expect(machine.tables.namespaces.has('team')).toBe(false);
    expect(machine.tables.jobs.has('team/done')).toBe(false);
    expect([...machine.tables.job_version.all()]).toEqual([]);
  });
});
