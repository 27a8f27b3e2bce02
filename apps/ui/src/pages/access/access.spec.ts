import { expect, it } from 'vitest';
import type { ACLTokenListStub } from '../../api/contract.js';
import { CONFIG_EXAMPLES, configText, readConfig } from './auth-method-config.js';
import { isAnswer } from './oidc-sign-in.js';
import { jobOfPolicy } from './policy-job.js';
import { filteredTokens, rightsInWords, stateOfToken } from './token-rights.js';

const token = (over: Partial<ACLTokenListStub>): ACLTokenListStub => ({
  AccessorID: 'a1',
  Name: '',
  Type: 'client',
  Policies: null,
  Roles: null,
  Global: false,
  Hash: '',
  CreateTime: null,
  ExpirationTime: null,
  CreateIndex: 1,
  ModifyIndex: 1,
  ...over,
});

it('says where the rights of a token come from', () => {
  expect(rightsInWords(token({ Type: 'management' }))).toBe('everything');
  expect(rightsInWords(token({}))).toBe('what everybody may');
  expect(rightsInWords(token({ Policies: ['dev'], Roles: [{ ID: 'r1', Name: '' }] }))).toBe('dev, role r1');
});

it('a token without an end is valid, and one at its end is not', () => {
  expect(stateOfToken(token({}), 1)).toBe('valid');
  const ends = token({ ExpirationTime: '2026-01-01T00:00:00Z' });
  expect(stateOfToken(ends, Date.parse('2025-12-31T23:59:59Z'))).toBe('valid');
  expect(stateOfToken(ends, Date.parse('2026-01-01T00:00:00Z'))).toBe('expired');
});

it('finds tokens by name, accessor, policy and kind', () => {
  const all = [token({ Name: 'ci', Policies: ['deploy'] }), token({ Name: 'admin', Type: 'management' })];
  const found = (filter: object) => filteredTokens(all, filter).map(({ Name }) => Name);
  expect(found({})).toEqual(['admin', 'ci']);
  expect(found({ search: 'DEPLOY' })).toEqual(['ci']);
  expect(found({ kind: 'management' })).toEqual(['admin']);
});

it('names the workload of a policy', () => {
  const of = (over: object) => jobOfPolicy({ JobACL: { Namespace: 'prod', JobID: '', Group: '', Task: '', ...over } });
  expect(jobOfPolicy({ JobACL: null })).toBeUndefined();
  expect(of({})).toBe('every job in prod');
  expect(of({ JobID: 'web', Group: 'g', Task: 't' })).toBe('task t of group g of job web in prod');
});

it('an address is the answer of a provider if it has a code or an error', () => {
  expect(isAnswer({ code: 'c', state: 's' })).toBe(true);
  expect(isAnswer({ error: 'access_denied' })).toBe(true);
  expect(isAnswer({})).toBe(false);
});

it('a configuration is written without what has no value, and read back as it was', () => {
  const config = { JWKSURL: 'https://a', BoundAudiences: ['waybill'], JWKSCACert: '', ClaimMappings: {}, Leeway: '0s' };
  const text = configText({ ...config, OIDCScopes: null, OIDCEnablePKCE: false, VerboseLogging: true });
  expect(JSON.parse(text)).toEqual({ JWKSURL: 'https://a', BoundAudiences: ['waybill'], VerboseLogging: true });
  for (const example of Object.values(CONFIG_EXAMPLES)) expect(readConfig(configText(example))).toEqual(example);
});

it('a configuration that is no object of JSON is refused with what to do', () => {
  expect(() => readConfig('{ "JWKSURL": ')).toThrow('The configuration is not JSON');
  for (const text of ['[]', 'null', '"a"', '1']) expect(() => readConfig(text)).toThrow('Put its members between');
});
