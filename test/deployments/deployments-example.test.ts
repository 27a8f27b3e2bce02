import { nsFromMs, nsFromRfc3339, type Deployment } from '@waybill/model';
import type { Applied } from '@waybill/state';
import { expect, it } from 'vitest';
import { MINUTE, RolloutCluster, tasksOf, UPDATE } from '../support/rollout-cluster.js';

/** One transaction of the story: its type, what it says, and the deployment after it. */
interface Step {
  readonly type: string;
  readonly timeNs: number;
  readonly deployment: Deployment | undefined;
  readonly applied: Applied;
}

const PROGRESS_NS = UPDATE.ProgressDeadline;

/** Leaves out what the broker notes about evaluations, and reports that an old allocation has stopped. */
function belongs({ txn }: Applied): boolean {
  if (txn.type === 'EvalUpdate') return false;
  return txn.type !== 'AllocClientUpdate' || txn.payload.Allocs.some((alloc) => alloc.DeploymentStatus !== null);
}

function stepOf(applied: Applied): Step {
  const change = applied.changes.find(({ table }) => table === 'deployment');
  const deployment = change?.table === 'deployment' ? change.after : undefined;
  return { type: applied.txn.type, timeNs: applied.txn.timeNs, deployment, applied };
}

it('section 5, DP-111, DP-207, DP-502, DP-503, DP-505, DP-853: one canary update, message by message', async () => {
  const cluster = await RolloutCluster.start();
  await cluster.register({ web: { Tasks: tasksOf(0) } });
  await cluster.until('successful');
  const steps: Step[] = [];
  cluster.plane.state.onApplied((applied) => {
    if (belongs(applied)) steps.push(stepOf(applied));
  });

  await cluster.register({ web: { Tasks: tasksOf(1), Update: { ...UPDATE, Canary: 1 } } });
  await cluster.time.pass(MINUTE);
  const { ID } = cluster.deployment()!;
  const [canary] = cluster.live(1);
  const promotedAtNs = nsFromMs(cluster.time.nowMs());
  const { evalId } = await cluster.commands.promote(ID, { all: true, groups: [], promotedAtNs: 0 }, {});
  await cluster.until('successful');
  await cluster.stop();

  expect(steps.map(({ type, deployment }) => [type, deployment?.TaskGroups['web']?.PlacedAllocs])).toEqual([
    ['JobRegister', undefined],
    ['ApplyPlanResults', 1],
    ['AllocClientUpdate', 1],
    ['AllocUpdateDesiredTransition', undefined],
    ['DeploymentPromote', 1],
    ['ApplyPlanResults', 2],
    ['AllocClientUpdate', 2],
    ['AllocUpdateDesiredTransition', undefined],
    ['ApplyPlanResults', 3],
    ['AllocClientUpdate', 3],
    ['AllocUpdateDesiredTransition', undefined],
    ['ApplyPlanResults', 3],
  ]);
  const [, created, canaryHealthy, , promoted, second, secondHealthy, , third, thirdHealthy, , ended] = steps;
  const web = (step: Step | undefined) => {
    const state = step?.deployment?.TaskGroups['web'];
    if (!state) throw new Error('the step does not touch the deployment');
    return { ...state, dueNs: state.RequireProgressBy === null ? 0 : nsFromRfc3339(state.RequireProgressBy) };
  };
  const placedNs = [...created!.applied.changes].flatMap((c) => (c.table === 'allocs' ? [c.after!.ModifyTime] : []));
  expect(created!.deployment).toMatchObject({
    Status: 'running',
    StatusDescription: 'Deployment is running but requires manual promotion',
  });
  expect(web(created)).toMatchObject({
    DesiredTotal: 3,
    DesiredCanaries: 1,
    PlacedCanaries: [canary!.ID],
    dueNs: placedNs[0]! + PROGRESS_NS,
  });
  expect(web(canaryHealthy)).toMatchObject({ HealthyAllocs: 1, dueNs: canaryHealthy!.timeNs + PROGRESS_NS });
  expect(promoted!.deployment).toMatchObject({ StatusDescription: 'Deployment is running', ModifyTime: promotedAtNs });
  expect(web(promoted)).toMatchObject({ Promoted: true, dueNs: promotedAtNs + PROGRESS_NS });
  const changedBy = (table: string, step: Step | undefined) =>
    step!.applied.changes.filter((change) => change.table === table).map(({ after }) => after);
  expect(changedBy('evals', promoted)).toMatchObject([{ ID: evalId, TriggeredBy: 'deployment-watcher' }]);
  expect(changedBy('allocs', promoted)).toMatchObject([{ ID: canary!.ID, DeploymentStatus: { Canary: false } }]);

  // The canary takes the place of one, another is replaced; then the last.
  const stoppedBy = (step: Step | undefined) =>
    changedBy('allocs', step).filter((alloc) => (alloc as { DesiredStatus?: string }).DesiredStatus === 'stop');
  expect(stoppedBy(second)).toHaveLength(2);
  expect(stoppedBy(third)).toHaveLength(1);
  expect([secondHealthy, thirdHealthy].map((step) => web(step).HealthyAllocs)).toEqual([2, 3]);
  expect(ended!.deployment).toMatchObject({
    Status: 'successful',
    StatusDescription: 'Deployment completed successfully',
  });
  expect(changedBy('job_version', ended)).toMatchObject([{ Version: 1, Stable: true }]);
  expect(cluster.live(1)).toHaveLength(3);
  expect(cluster.live()).toHaveLength(3);
});
