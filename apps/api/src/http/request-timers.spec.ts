import { describe, expect, it } from 'vitest';
import { timerOf } from './request-timers.js';

describe('request timers', () => {
  it('OP-104, AU-9: are named after what is asked, not after where', () => {
    expect(timerOf('PUT', '/v1/jobs', '/v1/jobs')).toBe('job.register');
    expect(timerOf('POST', '/v1/job/*', '/v1/job/a%2Fb')).toBe('job.register');
    expect(timerOf('GET', '/v1/job/*', '/v1/job/a/b/summary?pretty')).toBe('job.summary');
    expect(timerOf('DELETE', '/v1/job/*', '/v1/job/a?purge=true')).toBe('job.deregister');
    expect(timerOf('GET', '/v1/deployment/allocations/:id', '')).toBe('deployment.allocations');
    expect(timerOf('POST', '/v1/deployment/unblock/:id', '')).toBe('deployment.unblock');
    expect(timerOf('POST', '/v1/acl/auth-method/*', '')).toBe('acl.upsert_auth_methods');
    expect(timerOf('DELETE', '/v1/acl/binding-rule/*', '')).toBe('acl.delete_binding_rules');
    expect(timerOf('GET', '/v1/regions', '/v1/regions')).toBeUndefined();
  });
});
