import { describe, expect, it } from 'vitest';
import { affectedBy } from './affected-queries.js';

const change = (topic: string, key: string, filterKeys: readonly string[] = [], payload = {}) =>
  affectedBy({ topic, key, filterKeys, payload, index: 1, type: 'PlanResult', namespace: 'prod' });

describe('which answers a change makes old', () => {
  it('an allocation: its own, its job’s, its machine’s and its deployment’s, and no other job’s', () => {
    const keys = change('Allocation', 'a1', ['web', 'd1'], { Allocation: { NodeID: 'n1' } });
    expect(keys).toContainEqual(['allocation', 'a1']);
    expect(keys).toContainEqual(['job-allocations', 'prod', 'web']);
    expect(keys).toContainEqual(['node-allocations', 'n1']);
    expect(keys).toContainEqual(['deployment-allocations', 'd1']);
    expect(keys.filter(([kind]) => kind?.startsWith('job-')).every(([, , job]) => job === 'web')).toBe(true);
  });

  it('an allocation without a deployment makes no deployment old', () => {
    expect(change('Allocation', 'a1', ['web', '']).flat()).not.toContain('deployment-allocations');
  });

  it('every kind of object has its list and itself; what no page shows has nothing', () => {
    expect(change('Job', 'web')).toEqual(expect.arrayContaining([['jobs'], ['job', 'prod', 'web']]));
    expect(change('Node', 'n1')).toEqual([['object-log', 'node'], ['nodes'], ['node', 'n1']]);
    expect(change('Evaluation', 'e1', ['web', ''])).toEqual(
      expect.arrayContaining([['evaluations'], ['job-evaluations', 'prod', 'web'], ['jobs']]),
    );
    expect(change('Deployment', 'd1', ['web'])).toEqual(expect.arrayContaining([['job-deployments', 'prod', 'web']]));
    expect(change('Service', 's1', ['web', 'http'])).toContainEqual(['service', 'prod', 'http']);
    expect(change('Variable', 'web/a')).toEqual([['object-log', 'var'], ['variables'], ['variable', 'prod', 'web/a']]);
    expect(change('NodePool', 'gpu')).toEqual([]);
  });

  it('what callers may do is read again when a token, a policy or a role changes', () => {
    for (const topic of ['ACLToken', 'ACLPolicy', 'ACLRole']) expect(change(topic, 'a')).toContainEqual(['rights']);
  });
});
