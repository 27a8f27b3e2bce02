import type { AllocMetric } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { blockedEvaluation, eligibilityOf } from './blocked-evaluation.js';

const terms = {
  type: 'service',
  trigger: 'queued-allocs',
  description: 'waits',
  snapshotIndex: 7,
  id: 'blocked',
  nowNs: 5,
} as const;
const blocked = {
  classEligibility: { 'v1:1': true },
  escaped: false,
  missingResources: ['csi-volume:default:db'],
  failedGroups: { web: { NodesExhausted: 1 } as AllocMetric },
  nodeId: 'n1',
};

describe('a blocked evaluation', () => {
  it('SC-32, SC-308: is of its evaluation, with the reason and the snapshot', () => {
    const evaluation = fixtures.anEval({ Priority: 70, JobID: 'api', JobModifyIndex: 3 });
    expect(blockedEvaluation(evaluation, blocked, terms)).toMatchObject({
      ID: 'blocked',
      Priority: 70,
      JobID: 'api',
      JobModifyIndex: 3,
      Status: 'blocked',
      StatusDescription: 'waits',
      PreviousEval: evaluation.ID,
      SnapshotIndex: 7,
      NodeID: 'n1',
      FailedTGAllocs: blocked.failedGroups,
      ClassEligibility: blocked.classEligibility,
      EscapedComputedClass: false,
      MissingNonNodeResources: ['csi-volume:default:db'],
      CreateTime: 5,
    });
  });

  it('SC-36: waits for any change, if it escaped the classes or no reason is known', () => {
    expect(eligibilityOf({ ...blocked, escaped: true })).toMatchObject({
      ClassEligibility: {},
      EscapedComputedClass: true,
    });
    const unknown = blockedEvaluation(fixtures.anEval(), undefined, terms);
    expect(unknown).toMatchObject({ EscapedComputedClass: true, NodeID: '', FailedTGAllocs: {} });
  });
});
