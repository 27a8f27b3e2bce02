import type { BindingRule, BindType, MappedClaims } from '@waybill/model';
import { NS_PER_HOUR, NS_PER_MINUTE, StepBudget } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { TokenSecrets } from '../../acl/token-secrets.js';
import { boundNames, type NamingMethod, type RuleVerdict, tokenName } from './bound-names.js';
import { loginToken } from './login-token.js';
import { filledIn, NameTemplateError } from './name-template.js';
import { MAX_SELECTOR_STEPS_PER_LOGIN, selectorMatches } from './selector.js';

const CLAIMS: MappedClaims = {
  value: { team: 'Ops', mail: 'a@example.org', 'a-b': 'dash' },
  list: { groups: ['ops-eu', 'admins'], none: [] },
};
const method = (over: Partial<NamingMethod> = {}): NamingMethod => ({
  Name: 'okta',
  Type: 'OIDC',
  TokenNameFormat: '${auth_method_type}-${auth_method_name}',
  Config: { ClaimMappings: { team: 'team', mail: 'mail', x: 'a-b', y: 'absent' } },
  ...over,
});
const rule = (ID: string, BindType: BindType, BindName = '', Selector = ''): BindingRule => ({
  ID,
  Description: '',
  AuthMethod: 'okta',
  Selector,
  BindType,
  BindName,
  Hash: '',
  CreateTime: '',
  ModifyTime: '',
  CreateIndex: 1,
  ModifyIndex: 1,
});
const bound = (rules: BindingRule[], claims = CLAIMS, verdicts: RuleVerdict[] = []) =>
  boundNames(method(), rules, claims, (verdict) => verdicts.push(verdict));
const matches = (selector: string, claims = CLAIMS) =>
  selectorMatches(selector, claims, new StepBudget(MAX_SELECTOR_STEPS_PER_LOGIN)).matches;

describe('selectors', () => {
  it.each([
    'value.team == "Ops"',
    '"admins" in list.groups',
    'list.groups contains "admins"',
    'list.groups is not empty',
    'value.mail matches "@example\\\\.org$"',
    'any list.groups as g { g matches "^ops-" }',
    'value["a-b"] == dash',
    '"/value/a-b" == dash',
    'value.team == Ops and list.none is empty',
    '',
  ])('AU-46: %s', (selector) => {
    expect(matches(selector)).toBe(true);
  });

  it('AU-47: a name without value is an absent key: somebody without team is not of team ops', () => {
    const nobody = { value: {}, list: {} };
    expect(matches('value.team == "ops"', nobody)).toBe(false);
    expect(matches('value.team != "ops"', nobody)).toBe(true);
    expect(matches('"ops" in list.groups', nobody)).toBe(false);
    expect(matches('"ops" not in list.groups', nobody)).toBe(true);
    expect(matches('list.groups is empty', nobody)).toBe(true);
  });

  it('AU-48: one that cannot be decided does not match, and says why', () => {
    for (const selector of ['values.x == "a"', 'value.team.x == "a"', 'list.groups == "a"', 'value.team ==', '(((']) {
      const { matches: isMatch, problem } = selectorMatches(selector, CLAIMS, new StepBudget(1_000));
      expect([isMatch, typeof problem], selector).toEqual([false, 'string']);
    }
  });

  it('AU-49, AU-317: all selectors of a login share one budget; what is beyond it does not match', () => {
    const large = { value: { mail: 'x'.repeat(200_000) }, list: {} };
    const verdicts: RuleVerdict[] = [];
    const rules = [
      rule('1', 'policy', 'slow', 'value.mail matches "(a|aa|x)+(x+x+)+y"'),
      rule('2', 'policy', 'late', 'value.mail != "a"'),
      rule('3', 'policy', 'free'),
    ];
    expect(bound(rules, large, verdicts)).toEqual({ kind: 'client', roles: [], policies: ['free'] });
    expect(verdicts.map(({ problem }) => problem)).toEqual([
      'the filter expression takes too many steps',
      'the filter expression takes too many steps',
      undefined,
    ]);
  });

  it('AU-317: ten thousand groups are looked through within the budget', () => {
    const many = { value: {}, list: { groups: Array.from({ length: 10_000 }, (_, at) => `group-${at}`) } };
    expect(matches('"group-9999" in list.groups', many)).toBe(true);
  });
});

describe('names made of claims', () => {
  const fill = (template: string) =>
    filledIn(
      template,
      new Map([
        ['value.team', 'ops'],
        ['value.empty', ''],
      ]),
    );

  it.each([
    ['plain', 'plain'],
    ['', ''],
    ['${value.team}', 'ops'],
    ['a-${ value.team }-${value.team}', 'a-ops-ops'],
    ['[${value.empty}]', '[]'],
    ['$${value.team}', '${value.team}'],
    ['$${${value.team}}', '${ops}'],
    ['$5 and $', '$5 and $'],
    ['${"a}b"}c', 'a}bc'],
    ['${"\\"\\\\"}', '"\\'],
  ])('AU-51, AU-56: %s gives %s', (template, text) => {
    expect(fill(template)).toBe(text);
  });

  it.each([
    '${value.other}',
    '${1 + 2}',
    '${upper(value.team)}',
    '${value.team',
    '${}',
    '${"${value.team}"}',
    '${"a" "b"}',
  ])('AU-53, AU-56: %s is refused', (template) => {
    expect(() => fill(template)).toThrow(NameTemplateError);
  });

  it('AU-52: bind names take values in lower case, and a mapped name without value is empty', () => {
    const rules = [rule('1', 'policy', '${value.team}'), rule('2', 'role', 'r${value.absent}')];
    expect(bound(rules)).toEqual({ kind: 'client', roles: ['r'], policies: ['ops'] });
  });

  it('AU-53: an unknown variable in a rule that matches fails the login; in one that does not, it is not looked at', () => {
    expect(() => bound([rule('1', 'role', '${value.unmapped}')])).toThrow(
      'cannot compute "role" bind name for bind target: unknown variable accessed: value.unmapped',
    );
    expect(() => bound([rule('1', 'role', '${list.groups}')])).toThrow('unknown variable accessed: list.groups');
    expect(bound([rule('1', 'role', '${value.unmapped}', 'value.team == "x"')])).toMatchObject({ roles: [] });
  });

  it('AU-54: what is no name of a role or policy fails the login', () => {
    for (const template of ['${value.mail}', '${value.absent}', 'x'.repeat(129)])
      expect(() => bound([rule('1', 'policy', template)]), template).toThrow(
        /^computed "policy" bind name for bind target is invalid: "/,
      );
  });

  it('AU-55: names of tokens keep the case of values, and know method and type', () => {
    expect(tokenName(method(), CLAIMS)).toBe('OIDC-okta');
    const named = (TokenNameFormat: string) => tokenName(method({ TokenNameFormat }), CLAIMS);
    expect(named('${value.team}/${value.absent}/${auth_method_name}')).toBe('Ops//okta');
    expect(() => named('${value.unmapped}')).toThrow(
      'failed to generate ACL token name: unknown variable accessed: value.unmapped',
    );
  });
});

describe('what the rules give', () => {
  it('AU-61, AU-316: in order of their IDs; a bad name before management fails, behind it is not looked at', () => {
    const bad = (ID: string) => rule(ID, 'policy', 'not a name');
    expect(() => bound([rule('2', 'management'), bad('1')])).toThrow('bind target is invalid');
    expect(bound([bad('3'), rule('2', 'management'), rule('1', 'policy', 'a')])).toEqual({
      kind: 'management',
      roles: [],
      policies: [],
    });
  });

  it('AU-64: each role and policy once', () => {
    const rules = [rule('1', 'policy', 'a'), rule('2', 'policy', 'a'), rule('3', 'role', 'a'), rule('4', 'role', 'a')];
    expect(bound(rules)).toEqual({ kind: 'client', roles: ['a'], policies: ['a'] });
  });

  const decide = (
    names: ReturnType<typeof bound>,
    existing = { roles: [{ ID: 'r1', Name: 'dev' }], policies: ['a'] },
    MaxTokenTTL = NS_PER_HOUR,
    TokenLocality: 'local' | 'global' = 'global',
  ) => {
    let made = 0;
    const { payload } = loginToken(
      { method: { TokenLocality, MaxTokenTTL }, name: 'JWT-ci', bound: names, existing },
      {
        secrets: new TokenSecrets(Buffer.alloc(32, 1)),
        limits: { minTtlNs: NS_PER_MINUTE, maxTtlNs: 24 * NS_PER_HOUR },
        nowMs: Date.parse('2026-01-01T00:00:00Z'),
        newUuid: () => `uuid-${made++}`,
      },
    );
    return payload.Tokens[0]!;
  };
  const named = { kind: 'client', roles: ['dev', 'gone'], policies: ['a', 'gone'] } as const;

  it('AU-62, AU-65: a client token of what exists, for as long as the method says', () => {
    expect(decide(named)).toMatchObject({
      Name: 'JWT-ci',
      Type: 'client',
      Policies: ['a'],
      Roles: [{ ID: 'r1', Name: 'dev' }],
      Global: true,
      ExpirationTTL: NS_PER_HOUR,
      ExpirationTime: '2026-01-01T01:00:00.000Z',
    });
  });

  it('AU-62: a management token has nothing else', () => {
    expect(decide({ kind: 'management', roles: [], policies: [] })).toMatchObject({
      Type: 'management',
      Policies: null,
      Roles: null,
    });
  });

  it('AU-63, AU-321: nothing that exists is no token', () => {
    expect(() => decide(named, { roles: [], policies: [] })).toThrow('no role or policy bindings matched');
    expect(decide(named, { roles: [], policies: ['a'] })).toMatchObject({ Policies: ['a'], Roles: null });
  });

  it('AU-28: a login makes its token here, whether the method says that it is global or local', () => {
    expect(decide(named)).toMatchObject({ Global: true });
    expect(decide(named, undefined, NS_PER_HOUR, 'local')).toMatchObject({ Global: false });
  });

  it('AU-65, AU-227: the limits of the server hold for tokens of logins too', () => {
    expect(() => decide(named, undefined, NS_PER_MINUTE / 2)).toThrow(/^token 0 invalid: /);
  });
});
