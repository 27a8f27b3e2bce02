import { expect, it } from 'vitest';
import { readIntroduction } from '../introduction-request.js';
import { introductionClaims } from './introduction.js';

const NOW_S = 1_800_000_000;
const context = {
  region: 'global',
  issuer: '',
  defaultTtlNs: 300e9,
  maxTtlNs: 1_800e9,
  nowMs: NOW_S * 1_000 + 999,
  newId: () => 't1',
};
const decided = (body: object, over: Partial<typeof context> = {}) =>
  introductionClaims(readIntroduction(Buffer.from(JSON.stringify(body))), { ...context, ...over });
const lifeOf = (TTL: unknown): number => (decided({ TTL }).claims.exp ?? 0) - NOW_S;

it('AU-200: the claims of an introduction, for any machine of a pool or for one', () => {
  expect(decided({})).toEqual({
    isShortened: false,
    claims: {
      aud: 'nomadproject.io',
      sub: 'node-introduction:global:default::default',
      iat: NOW_S,
      nbf: NOW_S,
      exp: NOW_S + 300,
      jti: 't1',
      nomad_node_pool: 'default',
      nomad_node_name: '',
    },
  });
  const { claims } = decided({ NodeName: 'm1', NodePool: 'gpu' }, { issuer: 'https://waybill.example' });
  expect(claims).toMatchObject({
    iss: 'https://waybill.example',
    sub: 'node-introduction:global:gpu:m1:default',
    nomad_node_pool: 'gpu',
    nomad_node_name: 'm1',
  });
});

it('AU-200: its life is the default, what is asked for, or the longest one', () => {
  expect([lifeOf(0), lifeOf(''), lifeOf('1m'), lifeOf(90e9), lifeOf('1ms')]).toEqual([300, 300, 60, 90, 1]);
  expect(decided({ TTL: '31m' })).toMatchObject({ isShortened: true, claims: { exp: NOW_S + 1_800 } });
  expect(decided({ TTL: '30m' }).isShortened).toBe(false);
});

it.each([
  [{ TTL: '-1s' }, 'TTL must not be negative'],
  [{ TTL: -1 }, 'TTL must not be negative'],
  [{ TTL: true }, 'unexpected TTL type: bool'],
  [{ TTL: [1] }, 'unexpected TTL type: []interface {}'],
  [{ TTL: { a: 1 } }, 'unexpected TTL type: map[string]interface {}'],
  [{ TTL: 'soon' }, 'time: invalid duration "soon"'],
  [{ NodePool: 'a b' }, 'invalid name "a b", must match regex ^[a-zA-Z0-9-_]{1,128}$'],
  [{ NodePool: 'all' }, 'node is not allowed to register in node pool "all"'],
  [{ NodeName: 'x'.repeat(256) }, 'node name must be at most 255 bytes'],
])('AU-200: %j is refused', (body, text) => {
  expect(() => decided(body)).toThrow(text);
});
