import type { Claims } from '@waybill/keyring';
import { describe, expect, it } from 'vitest';
import type { Introduction } from '../introductions/introduction-verdict.js';
import { KubernetesIntroduction } from '../introductions/kubernetes-introduction.js';
import { type AdmissionFacts, admissionVerdict } from './admission-verdict.js';

const PROOF = {
  node: '4f3a9c2e-0000-4000-8000-000000000003',
  secret: '4f3a9c2e-0000-4000-8000-000000000004',
  name: 'db-7',
  pool: 'storage',
};
const TOKEN: Claims = {
  aud: 'nomadproject.io',
  sub: 'node-introduction:global:storage:db-7:default',
  jti: 't1',
  exp: 100,
  nomad_node_pool: 'storage',
  nomad_node_name: 'db-7',
};
const verdict = (facts: Partial<AdmissionFacts> = {}): string => {
  const found = admissionVerdict(PROOF, {
    stored: undefined,
    namesakes: () => [],
    introduction: 'none',
    used: undefined,
    ...facts,
  });
  return found.isAdmitted ? 'admitted' : found.why;
};

describe('a machine that the servers know', () => {
  it('AU-265: is admitted by its secret, whatever introduces it', () => {
    const introductions: Introduction[] = ['none', 'invalid', TOKEN];
    for (const introduction of introductions)
      expect(verdict({ stored: { SecretID: PROOF.secret }, introduction })).toBe('admitted');
  });

  it.each([
    ['another secret', 'f'.repeat(36)],
    ['the beginning of its secret', PROOF.secret.slice(0, 35)],
    ['no secret', ''],
  ])('AU-265: with %s, an introduction does not help', (_what, SecretID) => {
    const stored = { SecretID };
    for (const introduction of [TOKEN, new KubernetesIntroduction('p', 'db-7')])
      expect(verdict({ stored, introduction })).toBe('the node is known with another secret');
  });
});

describe('a new machine', () => {
  it('AU-265: needs an introduction of its name and pool', () => {
    expect(verdict()).toBe('node registration without introduction token');
    expect(verdict({ introduction: 'invalid' })).toBe('node registration introduction authentication failure');
    expect(verdict({ introduction: { ...TOKEN, nomad_node_pool: 'default' } })).toContain('claims mismatch');
    expect(verdict({ introduction: { ...TOKEN, nomad_node_name: 'db-8' } })).toContain('claims mismatch');
    expect(verdict({ introduction: { ...TOKEN, sub: 'x' } })).toContain('authentication failure');
    expect(verdict({ introduction: TOKEN })).toBe('admitted');
  });

  it('AU-265: cannot repeat a token with a name that another machine has used', () => {
    expect(verdict({ introduction: TOKEN, used: { NodeID: 'other' } })).toBe(
      'another node has used the introduction token',
    );
    expect(verdict({ introduction: TOKEN, used: { NodeID: PROOF.node } })).toBe('admitted');
  });

  it('AU-266: is introduced by its pod on the Kubernetes node of its name, which old versions do not name', () => {
    expect(verdict({ introduction: new KubernetesIntroduction('p', 'db-7') })).toBe('admitted');
    expect(verdict({ introduction: new KubernetesIntroduction('p', undefined) })).toBe('admitted');
    expect(verdict({ introduction: new KubernetesIntroduction('p', 'db-8') })).toContain('claims mismatch');
  });

  it('AU-266: is not introduced while another machine lives on its Kubernetes node', () => {
    const introduction = new KubernetesIntroduction('p', 'db-7');
    for (const Status of ['ready', 'initializing', 'disconnected'] as const)
      expect(verdict({ introduction, namesakes: () => [{ ID: 'other', Status }] })).toContain('a second machine');
    expect(verdict({ introduction, namesakes: () => [{ ID: 'other', Status: 'down' }] })).toBe('admitted');
  });
});
