import { describe, expect, it } from 'vitest';
import { KnownPaths } from './known-paths.js';

const paths = new KnownPaths();
for (const route of ['/v1/jobs', '/v1/job/*', '/v1/node/:id/drain', '/v1/waybill/openapi.json']) paths.add(route);

describe('known paths', () => {
  it('API-3: a path exists when a route of any method has it', () => {
    for (const url of ['/v1/jobs', '/v1/jobs?prefix=/x', '/v1/job/a/b/plan', '/v1/node/a%2Fb/drain'])
      expect(paths.has(url), url).toBe(true);
  });

  it('API-2: nothing else does', () => {
    for (const url of ['/v1/job/', '/v1/jobs/x', '/v1/node//drain', '/v1/node/a/b/drain', '/v1/waybill/openapiXjson'])
      expect(paths.has(url), url).toBe(false);
  });
});
