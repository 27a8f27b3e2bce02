import type { Allocation, Deployment } from '@waybill/model';
import { fixtures, type StateMachine } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { expectNoShortGroup } from './short-groups.js';

const NOW_MS = fixtures.timeNs / 1e6;

/** Version 0 of `web`, stable with three allocations; version 1 with a deployment as given, and one allocation of version 0 left. */
function rollout(over: Partial<Deployment>, canary = 0): { machine: StateMachine; check: () => void } {
  const machine = fixtures.aMachine();
  const group = fixtures.aGroup({ Count: 3 });
  const register = (version: number) =>
    fixtures.aRegisteredJob(
      machine,
      fixtures.aJob({ TaskGroups: [{ ...group, Tasks: [fixtures.aTask({ Config: { version } })] }] }),
    );
  const { job } = register(0);
  fixtures.apply(machine, 'JobStability', { JobID: job.ID, JobVersion: 0, Stable: true }, { namespace: 'default' });
  const { job: newer, evaluation } = register(1);
  const web = fixtures.aDeploymentState({ DesiredCanaries: canary, DesiredTotal: 3 });
  const Deployment = fixtures.aDeployment({
    JobVersion: newer.Version,
    JobCreateIndex: newer.CreateIndex,
    TaskGroups: { web },
    ...over,
  });
  const AllocsUpdated: Allocation[] = [fixtures.anAlloc({ Job: job })];
  fixtures.apply(
    machine,
    'ApplyPlanResults',
    fixtures.aPlanResult({ EvalID: evaluation.ID, Job: newer, Deployment, AllocsUpdated }),
  );
  const ended = { ...evaluation, Status: 'complete' as const };
  fixtures.apply(machine, 'EvalUpdate', { Evals: [ended] });
  return { machine, check: () => expectNoShortGroup(machine.tables, NOW_MS) };
}

describe('the check for groups that are short', () => {
  it.each<[string, Partial<Deployment>, number]>([
    ['whose rollout goes on', {}, 0],
    ['whose canaries wait for promotion', {}, 1],
    ['whose rollout is paused', { Status: 'paused' }, 0],
    ['whose rollout has failed', { Status: 'failed' }, 0],
    ['whose canaries were refused', { Status: 'failed' }, 1],
    ['whose turn has not come', { Status: 'pending', IsMultiregion: true }, 0],
  ])('finds one %s', (_, over, canary) => {
    expect(rollout(over, canary).check).toThrow('group web of web has 1 allocations of 3');
  });

  it('takes a blocked evaluation for an explanation, and a follow-up that is not due', () => {
    const blocked = rollout({ Status: 'paused' });
    fixtures.apply(blocked.machine, 'EvalUpdate', { Evals: [fixtures.anEval({ Status: 'blocked' })] });
    expect(blocked.check).not.toThrow();
    const waiting = rollout({ Status: 'paused' });
    const WaitUntil = new Date(NOW_MS + 60_000).toISOString();
    fixtures.apply(waiting.machine, 'EvalUpdate', { Evals: [fixtures.anEval({ WaitUntil })] });
    expect(waiting.check).not.toThrow();
  });
});
