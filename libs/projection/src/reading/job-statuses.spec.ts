import type { Job } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { BY_CHANGE, type JobWithStatus } from './job-statuses.js';

const changedAt = (ModifyIndex: number, ID: string): JobWithStatus => ({
  job: { ModifyIndex, Namespace: 'default', ID } as Job,
  allocs: [],
  latestDeployment: undefined,
  childStatuses: undefined,
  childrenIndex: 0,
});

describe('tokens of the overview of jobs', () => {
  it('API-64: the index of the next job, and it means all jobs of that index', () => {
    expect(BY_CHANGE.tokenOf(changedAt(71, 'web.1'), changedAt(75, 'web'))).toBe('71');
    expect(BY_CHANGE.parse('71')).toEqual([71]);
  });

  it('API-63: a page that ends between two jobs of one transaction goes on at the second', () => {
    expect(BY_CHANGE.tokenOf(changedAt(71, 'web.1'), changedAt(71, 'web.2'))).toBe('71.default.web.1');
    expect(BY_CHANGE.parse('71.default.web.1')).toEqual([71, 'default', 'web.1']);
  });

  it('what a browser makes of such a token by counting is none of this list', () => {
    expect(BY_CHANGE.parse('NaN')).toBeUndefined();
  });
});
