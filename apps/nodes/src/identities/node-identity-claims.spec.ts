import type { NodeClaims } from '@waybill/keyring';
import { MAX_DATACENTER_BYTES, MAX_OBJECT_ID_BYTES } from '@waybill/model';
import { MAX_MACHINE_TOKEN } from '@waybill/rpc';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import {
  heartbeatNeedsIdentity,
  type IdentifiedNode,
  identityTtlNs,
  nodeIdentityClaims,
  registrationNeedsIdentity,
} from './node-identity-claims.js';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const NOW_MS = 1_800_000_000_500;
const life = (hours: number) => ({ ttlNs: hours * 3_600e9, nowMs: NOW_MS });
const DAY = life(24);

const node: IdentifiedNode = { ID: 'n1', NodePool: 'gpu', NodeClass: 'big', Datacenter: 'dc2' };
const held = (leftMs: number, over: Partial<NodeClaims> = {}): NodeClaims => ({
  nodeId: 'n1',
  pool: 'gpu',
  nodeClass: 'big',
  datacenter: 'dc2',
  expiresAtMs: NOW_MS + leftMs,
  ...over,
});
const FRESH = held(20 * HOUR_MS);

describe('whether a machine gets a new identity', () => {
  it('AU-192: a registration without a valid identity', () => {
    expect(registrationNeedsIdentity(node, undefined, DAY)).toBe(true);
    expect(registrationNeedsIdentity(node, FRESH, DAY)).toBe(false);
  });

  it.each([{ pool: 'default' }, { nodeClass: '' }, { datacenter: 'dc1' }])(
    'AU-192: a registration whose node differs from the claims %j',
    (other) => {
      expect(registrationNeedsIdentity(node, held(20 * HOUR_MS, other), DAY)).toBe(true);
      expect(heartbeatNeedsIdentity(held(20 * HOUR_MS, other), false, DAY)).toBe(false);
    },
  );

  it('AU-192: a heartbeat with the secret, or with a forced renewal', () => {
    expect(heartbeatNeedsIdentity(undefined, false, DAY)).toBe(true);
    expect(heartbeatNeedsIdentity(FRESH, true, DAY)).toBe(true);
    expect(heartbeatNeedsIdentity(FRESH, false, DAY)).toBe(false);
  });

  it.each([
    [8 * HOUR_MS + MINUTE_MS, false],
    [8 * HOUR_MS, false],
    [8 * HOUR_MS - MINUTE_MS, true],
    [-MINUTE_MS, true],
  ])('AU-193: of 24 h, %d ms are left', (leftMs, isNeeded) => {
    expect(heartbeatNeedsIdentity(held(leftMs), false, DAY)).toBe(isNeeded);
    expect(registrationNeedsIdentity(node, held(leftMs), DAY)).toBe(isNeeded);
  });

  it('AU-193: the life of identities counts as the pool has it now', () => {
    expect(heartbeatNeedsIdentity(FRESH, false, DAY)).toBe(false);
    expect(heartbeatNeedsIdentity(FRESH, false, life(72))).toBe(true);
  });

  it('AU-194: the life is that of the pool, and 24 h in a pool that is unknown or has an older, negative one', () => {
    const pools = new Map([
      ['gpu', fixtures.aNodePool({ Name: 'gpu', NodeIdentityTTL: 3_600e9 })],
      ['old', fixtures.aNodePool({ Name: 'old', NodeIdentityTTL: -1 })],
    ]);
    expect(['gpu', 'old', 'unknown'].map((pool) => identityTtlNs(pools as never, pool) / 3_600e9)).toEqual([1, 24, 24]);
  });
});

describe('the claims of a new identity', () => {
  const context = { region: 'global', issuer: '', newId: () => 'fresh' };

  it('AU-191: name the node, its pool, class and datacenter, and an end', () => {
    expect(nodeIdentityClaims(node, life(1), context)).toEqual({
      aud: 'nomadproject.io',
      sub: 'node:global:gpu:n1:default',
      iat: 1_800_000_000,
      nbf: 1_800_000_000,
      exp: 1_800_003_600,
      jti: 'fresh',
      nomad_node_id: 'n1',
      nomad_node_pool: 'gpu',
      nomad_node_class: 'big',
      nomad_node_datacenter: 'dc2',
    });
    const issuer = 'https://waybill.example';
    expect(nodeIdentityClaims(node, life(1), { ...context, issuer }).iss).toBe(issuer);
  });

  it('AU-194: have an end at least a second after their beginning', () => {
    const { iat, exp } = nodeIdentityClaims(node, { ttlNs: 1, nowMs: NOW_MS }, context);
    expect((exp ?? 0) - (iat ?? 0)).toBe(1);
  });
});

describe('the longest identity', () => {
  it('AU-191: fits into a call, whatever names the machine registered with', () => {
    const worst = (bytes: number): string => '\u0001'.repeat(bytes);
    const longest: IdentifiedNode = {
      ID: worst(MAX_OBJECT_ID_BYTES),
      NodePool: 'p'.repeat(128),
      NodeClass: worst(MAX_DATACENTER_BYTES),
      Datacenter: worst(MAX_DATACENTER_BYTES),
    };
    const context = { region: 'r'.repeat(128), issuer: 'https://'.padEnd(255, 'i'), newId: () => fixtures.uuid(1) };
    const claims = JSON.stringify(nodeIdentityClaims(longest, DAY, context));
    const headerAndSignature = 600;
    expect(Buffer.from(claims).toString('base64url').length + headerAndSignature).toBeLessThan(MAX_MACHINE_TOKEN);
  });
});
