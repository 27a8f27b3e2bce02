import { expect, it } from 'vitest';
import { issuerProblem, type Member } from './member.js';

const aMember = (ID: string, issuer?: string): Member => ({
  ID,
  Name: `${ID}.global`,
  Host: '10.0.0.1',
  Port: 4646,
  StartedMs: 0,
  AppliedIndex: 1,
  ...(issuer !== undefined && { Issuer: issuer }),
});

it('AU-182: a member that names another issuer, or none, is a problem; an earlier build that says nothing is not', () => {
  const own = aMember('a', 'https://one.example');
  expect(issuerProblem(own, [aMember('b', 'https://one.example'), aMember('c')])).toBeUndefined();
  expect(issuerProblem(own, [aMember('b', 'https://one.example'), aMember('c', 'https://two.example')])).toBe(
    'WAYBILL_OIDC_ISSUER is "https://one.example" here and "https://two.example" at the API 10.0.0.1:4646: ' +
      'tokens and discovery documents name different issuers. Set the same for all',
  );
  expect(issuerProblem(own, [aMember('b', '')])).toContain('and "" at the API');
  expect(issuerProblem(aMember('a', ''), [aMember('b', '')])).toBeUndefined();
});
