import type { Allocation, Job, Plan, VolumeRequest } from '@waybill/model';
import { NodeLoads, fixtures, StateMachine } from '@waybill/state';
import { expect, it } from 'vitest';
import { conflictingWriters, requestsSoleWriter } from './host-volume-writers.js';
import { OptimisticState } from './optimistic-state.js';
import { verifyPlan } from './plan-verification.js';

const { aGroup, aJob, aNode, anAlloc, anEval, aPlanResult, aRegistration, aVolumeRequest, apply } = fixtures;

const SOLE = 'single-node-single-writer';
const jobOf = (ID: string, over: Partial<VolumeRequest> = {}): Job =>
  aJob({
    ID,
    TaskGroups: [aGroup({ Volumes: { data: aVolumeRequest({ Type: 'host', AccessMode: SOLE, ...over }) } })],
  });

/** What the applier says to an allocation of one job on a node where one of another job is. */
function verdictOn(there: Job, coming: Job): string | undefined {
  const state = new StateMachine();
  apply(state, 'Initialise', {});
  const node = aNode();
  apply(state, 'NodeRegister', { Node: node, CreateNodePool: false });
  const evaluation = anEval({ JobID: there.ID });
  apply(state, 'JobRegister', aRegistration(there, { Eval: evaluation }));
  const AllocsUpdated = [anAlloc({ Job: there, NodeID: node.ID })];
  apply(state, 'ApplyPlanResults', aPlanResult({ Job: there, AllocsUpdated, EvalID: evaluation.ID }));
  const placed: Allocation = anAlloc({ Job: null, JobID: coming.ID, NodeID: node.ID });
  const plan: Plan = fixtures.aPlan({
    EvalID: fixtures.freshId(),
    Job: coming,
    NodeAllocation: { [node.ID]: [placed] },
  });
  return verifyPlan(plan, coming, new OptimisticState(state.tables, new NodeLoads(state.tables))).rejected[0]?.reason;
}

it.each([
  ['two sole writers of one volume', {}, {}, 'conflicting claims for host volume with single-writer'],
  ['of two volumes', {}, { Source: 'other' }, undefined],
  ['one of whom only reads', {}, { ReadOnly: true }, undefined],
  ['many may write', { AccessMode: 'single-node-multi-writer' }, { AccessMode: 'single-node-multi-writer' }, undefined],
  [
    'each allocation has its own',
    { PerAlloc: true },
    { Source: 'data[0]' },
    'conflicting claims for host volume with single-writer',
  ],
])('SC-106: %s', (_, there, coming, reason) => {
  expect(verdictOn(jobOf('there', there), jobOf('coming', coming))).toBe(reason);
});

it('SC-106: a job of which one group writes alone is looked at, any other is not', () => {
  const [sole, reader] = [jobOf('sole'), jobOf('reader', { ReadOnly: true })];
  const both = { ...sole, TaskGroups: [...reader.TaskGroups, ...sole.TaskGroups] };
  const none = aJob({ TaskGroups: [aGroup({ Volumes: null as never })] });
  expect([null, none, reader, sole, both].map(requestsSoleWriter)).toEqual([false, false, false, true, true]);
});

it('SC-106: an allocation without a job has that of the plan, if it is one of that job', () => {
  const job = jobOf('web');
  const two = (over: Partial<Allocation>) =>
    [1, 2].map(() => ({ ...anAlloc({ Job: job, JobID: 'web' }), Job: null, ...over }));
  expect(conflictingWriters(two({}), job)).toBe(true);
  for (const over of [{ JobID: 'other' }, { Namespace: 'other' }])
    expect(conflictingWriters(two(over), job)).toBe(false);
  expect(conflictingWriters(two({}), null)).toBe(false);
});

it('SC-106: what a job asks for beside is no obstacle', () => {
  const job = jobOf('web');
  const shared = aVolumeRequest({ Type: 'host', Source: 'shared', AccessMode: 'multi-node-multi-writer' });
  const mixed = { ...job, TaskGroups: [aGroup({ Volumes: { shared } })] };
  expect(conflictingWriters([anAlloc({ Job: mixed }), anAlloc({ Job: mixed })], null)).toBe(false);
});
