import { expect, it } from 'vitest';
import type { DeploymentState } from '../../api/contract.js';
import { groupsToPromote, isActive, progressOf } from './rollout.js';

const group = (of: Partial<DeploymentState>) =>
  ({
    DesiredTotal: 4,
    DesiredCanaries: 0,
    Promoted: false,
    AutoPromote: false,
    HealthyAllocs: 0,
    ...of,
  }) as DeploymentState;

it('counts what is healthy of what is wanted: the canaries until they are promoted', () => {
  const canaries = { web: group({ DesiredCanaries: 1, HealthyAllocs: 1 }), db: group({ HealthyAllocs: 2 }) };
  expect(progressOf({ TaskGroups: canaries })).toEqual({ healthy: 3, wanted: 5 });
  expect(progressOf({ TaskGroups: { web: group({ DesiredCanaries: 1, Promoted: true }) } })).toEqual({
    healthy: 0,
    wanted: 4,
  });
});

it('waits for somebody only while it goes on and nothing promotes by itself', () => {
  const web = group({ DesiredCanaries: 1 });
  const db = group({});
  expect(groupsToPromote({ Status: 'running', TaskGroups: { web, db, api: web } })).toEqual(['web', 'api']);
  expect(groupsToPromote({ Status: 'failed', TaskGroups: { web } })).toEqual([]);
  expect(groupsToPromote({ Status: 'running', TaskGroups: { web: { ...web, AutoPromote: true } } })).toEqual([]);
  expect(groupsToPromote({ Status: 'running', TaskGroups: { web: { ...web, Promoted: true } } })).toEqual([]);
  expect(isActive({ Status: 'successful' })).toBe(false);
});
