import { describe, expect, it } from 'vitest';
import { introductionOf, type TokenReviewStatus } from './kubernetes-introduction.js';

const AGENTS = 'system:serviceaccount:waybill-agents:waybill-agent';
const STATUS = {
  authenticated: true,
  audiences: ['waybill'],
  user: {
    username: AGENTS,
    extra: {
      'authentication.kubernetes.io/node-name': ['worker-1'],
      'authentication.kubernetes.io/pod-name': ['waybill-agent-x'],
    },
  },
};
const introduces = (over: Partial<TokenReviewStatus>) => introductionOf({ ...STATUS, ...over }, AGENTS);

describe('a token that Kubernetes has reviewed', () => {
  it('AU-266: introduces the pod and its machine', () => {
    expect(introduces({})).toEqual({ pod: 'waybill-agent-x', machine: 'worker-1' });
    const extra = { 'authentication.kubernetes.io/pod-name': ['waybill-agent-x'] };
    expect(introduces({ user: { username: AGENTS, extra } })).toEqual({ pod: 'waybill-agent-x', machine: undefined });
  });

  it.each<[string, Partial<TokenReviewStatus>]>([
    ['is not valid', { authenticated: false }],
    ['is not judged', { authenticated: undefined }],
    ['is for another audience', { audiences: ['https://kubernetes.default.svc'] }],
    ['has no audience', { audiences: undefined }],
    ['is of another service account', { user: { ...STATUS.user, username: `${AGENTS}-2` } }],
    ['is of another namespace', { user: { ...STATUS.user, username: 'system:serviceaccount:x:waybill-agent' } }],
    ['is bound to no pod', { user: { username: AGENTS, extra: {} } }],
    ['has no user', { user: undefined }],
  ])('AU-266: introduces nobody if it %s', (_what, over) => {
    expect(introduces(over)).toBeUndefined();
  });
});
