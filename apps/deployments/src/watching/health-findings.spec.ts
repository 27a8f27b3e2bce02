import type { Allocation, DeploymentState, ReschedulePolicy } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { healthFindings, isOutOfAttempts } from './health-findings.js';

const { aDeployment, aDeploymentState, aGroup, aJob, anAlloc } = fixtures;
const NOW_NS = 1_000_000e9;
const POLICY = { Attempts: 2, Interval: 600e9, Delay: 1e9, DelayFunction: 'constant', MaxDelay: 0, Unlimited: false };

const jobWith = (policy: Partial<ReschedulePolicy> | null) =>
  aJob({ TaskGroups: [aGroup({ ReschedulePolicy: policy && ({ ...POLICY, ...policy } as ReschedulePolicy) })] });
const attempts = (...agoNs: number[]): Pick<Allocation, 'RescheduleTracker'> => ({
  RescheduleTracker: {
    LastReschedule: '',
    Events: agoNs.map((ago) => ({
      RescheduleTime: NOW_NS - ago,
      PrevAllocID: '',
      PrevNodeID: '',
      Delay: 0,
    })),
  },
});
const health = (Healthy: boolean | null, ModifyIndex = 10) => ({
  Healthy,
  Timestamp: null,
  Canary: false,
  ModifyIndex,
});

describe('attempts to reschedule', () => {
  it('DP-703: those within the interval of the policy count, and as many as it allows are too many', () => {
    const out = (policy: Partial<ReschedulePolicy> | null, ...agoNs: number[]) =>
      isOutOfAttempts({ Job: jobWith(policy), TaskGroup: 'web', ...attempts(...agoNs) }, NOW_NS);
    expect([out({}), out({}, 1e9), out({}, 1e9, 2e9), out({}, 1e9, 2e9, 3e9)]).toEqual([false, false, true, true]);
    expect([out({}, 1e9, 599e9), out({}, 1e9, 600e9)]).toEqual([true, false]);
    expect([out({ Attempts: 0 }), out({ Attempts: 0, Unlimited: true }, 1e9, 2e9)]).toEqual([true, false]);
    expect(out({ Unlimited: true }, 1e9, 2e9)).toBe(false);
    expect(out(null)).toBe(true);
  });

  it('DP-703: without its job or group there is no further attempt, without a tracker there was none', () => {
    const none = { TaskGroup: 'web', RescheduleTracker: null };
    expect(isOutOfAttempts({ ...none, Job: null }, NOW_NS)).toBe(true);
    expect(isOutOfAttempts({ ...none, Job: jobWith({}), TaskGroup: 'other' }, NOW_NS)).toBe(true);
    expect(isOutOfAttempts({ ...none, Job: jobWith({}) }, NOW_NS)).toBe(false);
  });
});

describe('what the health of allocations leads to', () => {
  const find = (
    state: Partial<DeploymentState>,
    allocs: Partial<Allocation>[],
    { seen = 5, policy = {} as Partial<ReschedulePolicy> } = {},
  ) =>
    healthFindings(
      aDeployment({ TaskGroups: { web: aDeploymentState(state) } }),
      allocs.map((over, i) => anAlloc({ ID: `a${i}`, Job: jobWith(policy), ...over })),
      seen,
      NOW_NS,
    );
  const nothing = { failure: undefined, reschedulable: [], wantsEvaluation: false };

  it('what is not known, and what is of another group, leads to nothing', () => {
    expect(
      find({}, [
        { DeploymentStatus: null },
        { DeploymentStatus: health(null) },
        { TaskGroup: 'other', DeploymentStatus: health(false) },
        { TaskGroup: 'constructor', DeploymentStatus: health(false) },
      ]),
    ).toEqual(nothing);
  });

  it('DP-705: a healthy one wants an evaluation, unless one has seen it', () => {
    const wants = (...indexes: number[]) =>
      find(
        {},
        indexes.map((index) => ({ DeploymentStatus: health(true, index) })),
      );
    expect(wants(6)).toEqual({ ...nothing, wantsEvaluation: true });
    expect(wants(5)).toEqual(nothing);
    expect(wants(6, 5)).toEqual({ ...nothing, wantsEvaluation: true });
  });

  it('DP-702: an unhealthy one is rescheduled while it may be, and asked for that once', () => {
    const Reschedule = { ...anAlloc().DesiredTransition, Reschedule: true };
    expect(
      find({}, [
        { DeploymentStatus: health(false) },
        { DeploymentStatus: health(false), DesiredTransition: Reschedule },
        { DeploymentStatus: health(false), ...attempts(1e9) },
      ]),
    ).toEqual({ ...nothing, reschedulable: ['a0', 'a2'] });
  });

  it('DP-701, DP-703: without a deadline or further attempts it fails the deployment, which a group may revert', () => {
    const ill = [{ DeploymentStatus: health(false) }];
    expect(find({ ProgressDeadline: 0 }, ill)).toEqual({ ...nothing, failure: { reverts: false } });
    expect(find({}, [{ ...ill[0], ...attempts(1e9, 2e9) }])).toEqual({ ...nothing, failure: { reverts: false } });
    expect(find({ ProgressDeadline: 0, AutoRevert: true }, ill)).toEqual({ ...nothing, failure: { reverts: true } });
  });

  it('DP-803: one group that reverts is enough, whichever fails first', () => {
    const groups = {
      plain: aDeploymentState({ ProgressDeadline: 0 }),
      web: aDeploymentState({ ProgressDeadline: 0, AutoRevert: true }),
    };
    const allocs = ['web', 'plain'].map((TaskGroup) => anAlloc({ TaskGroup, DeploymentStatus: health(false) }));
    for (const order of [allocs, allocs.toReversed()])
      expect(healthFindings(aDeployment({ TaskGroups: groups }), order, 0, NOW_NS).failure).toEqual({ reverts: true });
  });
});
