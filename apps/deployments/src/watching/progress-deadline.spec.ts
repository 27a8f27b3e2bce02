import { fixtures } from '@waybill/state';
import type { Deployment, DeploymentState } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { cutoffMs, isSatisfied, overdueGroups } from './progress-deadline.js';

const { aDeployment, aDeploymentState } = fixtures;
const at = (minute: number): string => new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString();
const ms = (minute: number): number => Date.UTC(2026, 0, 1, 0, minute);
const of = (over: Partial<Deployment>, ...groups: Partial<DeploymentState>[]) =>
  aDeployment({
    TaskGroups: Object.fromEntries(groups.map((group, i) => [`g${i}`, aDeploymentState(group)])),
    ...over,
  });

describe('the progress deadline', () => {
  it.each<[boolean, Partial<DeploymentState>]>([
    [false, { DesiredTotal: 2, HealthyAllocs: 1 }],
    [true, { DesiredTotal: 2, HealthyAllocs: 2 }],
    [true, { DesiredTotal: 5, DesiredCanaries: 2, HealthyAllocs: 2 }],
    [false, { DesiredTotal: 5, DesiredCanaries: 2, HealthyAllocs: 1 }],
    [false, { DesiredTotal: 5, DesiredCanaries: 2, HealthyAllocs: 2, Promoted: true }],
    [true, { DesiredTotal: 5, DesiredCanaries: 2, HealthyAllocs: 5, Promoted: true }],
    [true, { DesiredTotal: 0, HealthyAllocs: 0 }],
  ])('DP-506: %s: a group is done when all are healthy, or its canaries before their promotion: %j', (done, group) => {
    expect(isSatisfied(aDeploymentState(group))).toBe(done);
  });

  it('DP-507: the first group that is not done decides', () => {
    const groups = [
      { RequireProgressBy: at(7), DesiredTotal: 1 },
      { RequireProgressBy: at(5), DesiredTotal: 1 },
      { RequireProgressBy: at(6), DesiredTotal: 1 },
      { RequireProgressBy: at(1), DesiredTotal: 1, HealthyAllocs: 1 },
      { RequireProgressBy: null, DesiredTotal: 1 },
    ];
    expect(cutoffMs(of({}, ...groups))).toBe(ms(5));
    expect(cutoffMs(of({}, ...groups.toReversed()))).toBe(ms(5));
    expect(cutoffMs(of({}, ...groups.slice(3)))).toBeUndefined();
    expect(cutoffMs(of({ Status: 'paused' }, ...groups))).toBeUndefined();
  });

  it('DP-508: a group is overdue from its own deadline on, if it is not done and the deployment runs', () => {
    const groups = [
      { RequireProgressBy: at(5), DesiredTotal: 1 },
      { RequireProgressBy: at(6), DesiredTotal: 2 },
      { RequireProgressBy: at(5), DesiredTotal: 3, HealthyAllocs: 3 },
      { RequireProgressBy: null, DesiredTotal: 4 },
    ];
    const overdue = (minute: number, over: Partial<Deployment> = {}) =>
      overdueGroups(of(over, ...groups), ms(minute)).map(({ DesiredTotal }) => DesiredTotal);
    expect(overdueGroups(of({}, ...groups), ms(5) - 1)).toEqual([]);
    expect([overdue(5), overdue(6)]).toEqual([[1], [1, 2]]);
    expect(overdue(6, { Status: 'paused' })).toEqual([]);
  });
});
