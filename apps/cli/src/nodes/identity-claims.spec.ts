import { expect, it } from 'vitest';
import { rfc3339 } from '../terminal/times.js';
import { claimRows } from './identity-claims.js';

it('AU-305: claims by name, those about the node last, and times as times', () => {
  const claims = {
    nomad_node_pool: 'gpu',
    exp: 1_800_000_000,
    sub: 'node:global:gpu:n1:default',
    nomad_node_id: 'n1',
    aud: ['nomadproject.io', 'other'],
    iat: 'unreadable',
    extra: { a: 1 },
  };
  expect(claimRows(claims)).toEqual([
    ['aud', 'nomadproject.io, other'],
    ['exp', rfc3339(1_800_000_000_000)],
    ['extra', '{"a":1}'],
    ['iat', 'unreadable'],
    ['sub', 'node:global:gpu:n1:default'],
    ['nomad_node_id', 'n1'],
    ['nomad_node_pool', 'gpu'],
  ]);
});
