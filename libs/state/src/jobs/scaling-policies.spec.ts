import type { Job, ScalingPolicy } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { fixtures } from '../fixtures.js';

const { aGroup, aJob, aMachine, aScalingPolicy, aTask, apply, aRegistration, timeNs } = fixtures;

const forGroup = (over: Partial<ScalingPolicy> = {}) => aScalingPolicy(over);
const forTask = (Task: string, over: Partial<ScalingPolicy> = {}) =>
  aScalingPolicy({ Type: 'vertical_cpu', Target: { Namespace: 'default', Job: 'web', Group: 'web', Task }, ...over });

function world() {
  const machine = aMachine();
  const register = (Scaling: ScalingPolicy | null, ScalingPolicies: ScalingPolicy[] | null = null, over = {}) => {
    const TaskGroups = [aGroup({ Scaling, Tasks: [aTask({ ScalingPolicies })] })];
    return apply(machine, 'JobRegister', aRegistration(aJob({ TaskGroups, ...over })));
  };
  const deregister = (Purge: boolean) =>
    apply(
      machine,
      'JobDeregister',
      { JobID: 'web', Purge, NoShutdownDelay: false, SubmitTime: timeNs, Eval: null, TrackedVersions: 6 },
      { namespace: 'default' },
    );
  const policies = () => [...machine.tables.scaling_policy.all()];
  const only = () => {
    expect(policies()).toHaveLength(1);
    return policies()[0]!;
  };
  const job = (): Job => machine.tables.jobs.get('default/web')!;
  return { machine, register, deregister, policies, only, job };
}

describe('ST-59: the scaling policies of a job', () => {
  it('ST-59: a policy keeps its ID and creation over versions, and its modification while it says the same', () => {
    const { register, only, job } = world();
    const first = register(forGroup({ Max: 5 }));
    const created = only();
    expect(created).toMatchObject({ Max: 5, CreateIndex: first.index, ModifyIndex: first.index });
    expect(created.ID).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    const unchanged = register(forGroup({ Max: 5 }), null, { Priority: 70 });
    expect(unchanged.changes.map(({ table }) => table)).not.toContain('scaling_policy');
    expect(job().TaskGroups[0]!.Scaling).toEqual(created);
    const raised = register(forGroup({ Max: 9 }));
    expect(only()).toEqual({ ...created, Max: 9, ModifyIndex: raised.index });
    expect(job().TaskGroups[0]!.Scaling).toEqual(only());
  });

  it('ST-59: what a task may use is known by its type, too; a policy whose target left the job goes', () => {
    const { register, policies, job } = world();
    register(forGroup(), [forTask('task'), forTask('task', { Type: 'vertical_mem' })]);
    expect(policies().map(({ Type }) => Type)).toEqual(['horizontal', 'vertical_cpu', 'vertical_mem']);
    expect(job().TaskGroups[0]!.Tasks[0]!.ScalingPolicies).toEqual(policies().slice(1));
    const [, , memory] = policies();
    register(null, [forTask('task', { Type: 'vertical_mem' })]);
    expect(policies()).toEqual([memory]);
  });

  it('ST-59: a policy of one task among several is found, and a changed one keeps its creation', () => {
    const { machine, policies } = world();
    const register = (Max: number) => {
      const Tasks = [aTask({ Name: 'a' }), aTask({ Name: 'b', ScalingPolicies: [forTask('b', { Max })] })];
      const TaskGroups = [aGroup({ Name: 'plain' }), aGroup({ Name: 'web', Tasks })];
      return apply(machine, 'JobRegister', aRegistration(aJob({ TaskGroups })));
    };
    const { index } = register(4);
    expect(policies()).toMatchObject([{ Max: 4, CreateIndex: index }]);
    register(5);
    expect(policies()).toMatchObject([{ Max: 5, CreateIndex: index, ModifyIndex: index + 1 }]);
    const [plain] = machine.tables.jobs.get('default/web')!.TaskGroups;
    expect([plain!.Scaling, plain!.Tasks[0]!.ScalingPolicies]).toEqual([null, null]);
  });

  it("ST-59: what another job handed on to its child stays the other job's", () => {
    const { register, policies, job } = world();
    const parents = aScalingPolicy({ Target: { Namespace: 'default', Job: 'parent', Group: 'web' } });
    register(parents);
    expect(policies()).toEqual([]);
    expect(job().TaskGroups[0]!.Scaling).toEqual(parents);
  });

  it('ST-63: a stopped job has them switched off', () => {
    const { register, deregister, only } = world();
    register(forGroup());
    const { ID } = only();
    const { index } = deregister(false);
    expect(only()).toMatchObject({ ID, Enabled: false, ModifyIndex: index });
  });

  it('ST-65 GC-48: they go with the job; registered anew they are others', () => {
    const { register, deregister, policies, only } = world();
    register(forGroup());
    const { ID } = only();
    deregister(true);
    expect(policies()).toEqual([]);
    register(forGroup());
    expect(only().ID).not.toBe(ID);
  });

  it('ST-3, ST-8: every copy of the state gives them the same IDs, also one of a later program', () => {
    const [one, other] = [world(), world()];
    for (const { register } of [one, other]) register(forGroup(), [forTask('task')]);
    expect(one.policies()).toEqual(other.policies());
    expect(one.policies().map(({ ID }) => ID)).toEqual([
      '9adf51fc-2a00-135a-d32a-9b8f5f5bda68',
      '351e41b7-6a5d-bb30-72f1-6c984d51ad2e',
    ]);
  });
});
