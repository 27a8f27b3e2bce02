import type { BindingRule } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { parseCommandLine } from '../command-line.js';
import { command as createMethod } from '../commands/acl-auth-method-create.js';
import { command as updateRule } from '../commands/acl-binding-rule-update.js';
import { changesMethod, methodMembers, wholeMethod } from './auth-method-flags.js';
import { configList, type Method } from './auth-method-text.js';
import { mergedRule, mustChangeRule, wholeRule } from './binding-rule-flags.js';
import { ruleList } from './binding-rule-text.js';

const methodFlags = (...words: string[]) => parseCommandLine(createMethod, 'test', words).flags;
const ruleFlags = (...words: string[]) => parseCommandLine(updateRule, 'test', ['some-id', ...words]).flags;

const CONFIG: Method['Config'] = {
  JWTValidationPubKeys: null,
  JWKSURL: '',
  JWKSCACert: '',
  OIDCDiscoveryURL: 'https://login.example.org',
  DiscoveryCaPem: null,
  OIDCClientID: 'waybill',
  OIDCClientSecret: 'redacted',
  OIDCClientAssertion: null,
  OIDCEnablePKCE: true,
  OIDCDisableUserInfo: false,
  OIDCScopes: ['groups', 'email'],
  AllowedRedirectURIs: null,
  BoundAudiences: null,
  BoundIssuer: null,
  SigningAlgs: null,
  ExpirationLeeway: '',
  NotBeforeLeeway: '1m0s',
  ClockSkewLeeway: '',
  ClaimMappings: { team: 'team', email: 'mail' },
  ListClaimMappings: null,
  VerboseLogging: false,
};

describe('an auth method', () => {
  it('AU-295: what is missing is said in one order', async () => {
    const given: string[] = [];
    const steps: [string, string][] = [
      ['-name=ci', 'ACL auth method name must be specified using the -name flag'],
      ['-token-locality=local', "Token locality must be set to either 'local' or 'global'"],
      ['-max-token-ttl=1h', 'Max token TTL must be set to a value between min and max TTL configured for the server.'],
      ['-type=jwt', "ACL auth method type must be set to 'OIDC' or 'JWT'"],
      ['-config={"JWKSURL": "https://ci.example.org/keys"}', 'Must provide ACL auth method config in JSON format'],
    ];
    for (const [flag, missing] of steps) {
      await expect(wholeMethod(methodFlags(...given))).rejects.toThrow(missing);
      given.push(flag);
    }
    expect(await wholeMethod(methodFlags(...given))).toEqual({
      Name: 'ci',
      Type: 'JWT',
      TokenLocality: 'local',
      MaxTokenTTL: 3_600e9,
      Config: { JWKSURL: 'https://ci.example.org/keys' },
    });
  });

  it('AU-295: a configuration that cannot be read or understood says so', async () => {
    await expect(methodMembers(methodFlags('-config=@/no/such/file'))).rejects.toThrow(
      'Error loading configuration: open /no/such/file: no such file or directory',
    );
    await expect(methodMembers(methodFlags('-config={'))).rejects.toThrow(/^Unable to parse config: /);
  });

  it('AU-297: no flag changes nothing, and each changes its member only', async () => {
    expect(changesMethod(methodFlags('-name=ci'))).toBe(false);
    expect(await methodMembers(methodFlags('-default=false'))).toEqual({ Default: false });
    expect(changesMethod(methodFlags('-default=false'))).toBe(true);
    expect(await methodMembers(methodFlags('-token-name-format=${value.mail}'))).toEqual({
      TokenNameFormat: '${value.mail}',
    });
  });

  it('AU-296: its configuration is a list, with maps in order', () => {
    const OIDCClientAssertion = {
      KeySource: 'client_secret' as const,
      Audience: ['a', 'b'],
      KeyAlgorithm: 'HS256',
      PrivateKey: null,
      ExtraHeaders: { z: '1', a: '2' },
    };
    const lines = configList({ Config: { ...CONFIG, OIDCClientAssertion } }).split('\n');
    const rows = Object.fromEntries(lines.map((line) => line.split(/ += /) as [string, string]));
    expect(rows).toMatchObject({
      'JWT Validation Public Keys': '<none>',
      'OIDC Client Secret': 'redacted',
      'OIDC Client Assertion KeySource': 'client_secret',
      'OIDC Client Assertion Algorithm': 'HS256',
      'OIDC Client Assertion Audience': 'a,b',
      'OIDC Client Assertion Headers': '{a: 2}; {z: 1}',
      'OIDC Enable PKCE': 'true',
      'OIDC Scopes': 'groups,email',
      'NotBefore Leeway': '1m0s',
      'Claim mappings': '{email: mail}; {team: team}',
      'List claim mappings': '<none>',
    });
    expect(configList({ Config: CONFIG })).not.toContain('Assertion');
  });
});

describe('a binding rule', () => {
  const stored: BindingRule = {
    ID: 'some-id',
    Description: 'for ops',
    AuthMethod: 'ci',
    Selector: 'value.team == "ops"',
    BindType: 'role',
    BindName: 'ops',
    Hash: '',
    CreateTime: '2026-01-01T00:00:00Z',
    ModifyTime: '2026-01-01T00:00:00Z',
    CreateIndex: 1,
    ModifyIndex: 2,
  };
  const { Description, Selector, BindType } = stored;

  it('AU-300: merges what is given, and loses its name with a type that has none', () => {
    expect(() => mustChangeRule(ruleFlags())).toThrow('Please provide at least one update for the ACL binding rule');
    expect(mergedRule(ruleFlags('-bind-name=dev'), stored)).toEqual({
      Description,
      Selector,
      BindType,
      BindName: 'dev',
    });
    expect(mergedRule(ruleFlags('-bind-type=management'), stored)).toMatchObject({
      BindType: 'management',
      BindName: '',
    });
  });

  it('AU-299, AU-300: whole, it needs a type and empties what is not given', () => {
    expect(() => wholeRule(ruleFlags('-no-merge', '-bind-name=a'))).toThrow(
      'ACL binding rule bind type must be specified using the -bind-type flag',
    );
    expect(wholeRule(ruleFlags('-no-merge', '-bind-type=role', '-bind-name=dev'))).toEqual({
      Description: '',
      Selector: '',
      BindType: 'role',
      BindName: 'dev',
    });
  });

  it('AU-299: shows its selector quoted', () => {
    expect(ruleList(stored)).toContain('Selector     = "value.team == \\"ops\\""');
  });
});
