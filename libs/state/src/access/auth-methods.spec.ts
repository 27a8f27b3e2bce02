import type { AuthMethod, BindingRule } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { eventsOf } from '../events.js';
import { fixtures } from '../fixtures.js';
import type { StateMachine } from '../machine/state-machine.js';

const { aBindingRule, aMachine, aMethodConfig, anAuthMethod, apply } = fixtures;

const put = (machine: StateMachine, AuthMethod: AuthMethod) => apply(machine, 'ACLAuthMethodUpsert', { AuthMethod });
const remove = (machine: StateMachine, Name: string, WithRules = false) =>
  apply(machine, 'ACLAuthMethodDelete', { Name, WithRules });
const bind = (machine: StateMachine, Rule: BindingRule, MustExist = false) =>
  apply(machine, 'ACLBindingRuleUpsert', { Rule, MustExist });
const unbind = (machine: StateMachine, ID: string) => apply(machine, 'ACLBindingRuleDelete', { ID });

const EARLY = '2026-01-01T00:00:00.000Z';
const LATE = '2026-01-02T00:00:00.000Z';

const withMethod = (): StateMachine => {
  const machine = aMachine();
  put(machine, anAuthMethod());
  return machine;
};

describe('auth methods', () => {
  it('AU-21: a write that says the same changes nothing, whatever its time and the order of its maps', () => {
    const machine = aMachine();
    const Config = aMethodConfig({ ClaimMappings: { a: 'one', b: 'two' } });
    put(machine, anAuthMethod({ Config, ModifyTime: EARLY }));
    const stored = machine.tables.acl_auth_methods.get('ci');
    const ClaimMappings = { b: 'two', a: 'one' };
    const again = put(machine, anAuthMethod({ Config: aMethodConfig({ ClaimMappings }), ModifyTime: LATE }));
    expect([again.verdict.kind, again.changes, eventsOf(again)]).toEqual(['noop', [], null]);
    expect(machine.tables.acl_auth_methods.get('ci')).toBe(stored);
    const swapped = put(machine, anAuthMethod({ Config: aMethodConfig({ ClaimMappings: { a: 'two', b: 'one' } }) }));
    expect(swapped.verdict.kind).toBe('accepted');
  });

  it('AU-22: CreateIndex and CreateTime survive an update, ModifyTime is that of the writer', () => {
    const machine = aMachine();
    const first = put(machine, anAuthMethod({ CreateTime: 'anything', ModifyTime: EARLY }));
    const second = put(machine, anAuthMethod({ MaxTokenTTL: 60e9, CreateTime: LATE, ModifyTime: LATE }));
    expect(machine.tables.acl_auth_methods.get('ci')).toMatchObject({
      MaxTokenTTL: 60e9,
      CreateIndex: first.index,
      CreateTime: EARLY,
      ModifyIndex: second.index,
      ModifyTime: LATE,
    });
  });

  it('AU-20: of all methods one is the default; another may be when it no longer is', () => {
    const machine = aMachine();
    put(machine, anAuthMethod({ Default: true }));
    const other = anAuthMethod({ Name: 'people', Type: 'OIDC', Default: true });
    expect(put(machine, other).verdict).toEqual({
      kind: 'refused',
      code: 'invalid',
      error: 'default ACL auth method already exists: ci',
    });
    expect(put(machine, anAuthMethod({ Default: true, MaxTokenTTL: 60e9 })).verdict.kind).toBe('accepted');
    expect(put(machine, { ...other, Default: false }).verdict.kind).toBe('accepted');
    expect(put(machine, other).verdict.kind).toBe('refused');
    put(machine, anAuthMethod());
    expect(put(machine, other).verdict.kind).toBe('accepted');
  });

  it('AU-23: a deleted method leaves its rules, and a new one of the name has them again', () => {
    const machine = withMethod();
    const rule = aBindingRule();
    bind(machine, rule);
    expect(remove(machine, 'ci').changes.map(({ table }) => table)).toEqual(['acl_auth_methods']);
    expect(machine.tables.acl_binding_rules.get(rule.ID)).toMatchObject({ AuthMethod: 'ci' });
    put(machine, anAuthMethod());
    expect([...machine.tables.acl_binding_rules.by('method', 'ci')]).toHaveLength(1);
    expect(remove(machine, 'gone').verdict).toEqual({
      kind: 'refused',
      code: 'not-found',
      error: 'ACL auth method not found',
    });
  });

  it('AU-23: its rules go with it where that is asked for, those of others stay', () => {
    const machine = withMethod();
    put(machine, anAuthMethod({ Name: 'people' }));
    const rules = [aBindingRule(), aBindingRule(), aBindingRule({ AuthMethod: 'people' })];
    for (const rule of rules) bind(machine, rule);
    const gone = remove(machine, 'ci', true);
    expect(gone.changes.map(({ key }) => key)).toEqual([
      'ci',
      ...rules
        .slice(0, 2)
        .map(({ ID }) => ID)
        .toSorted(),
    ]);
    expect(Array.from(machine.tables.acl_binding_rules.all(), ({ ID }) => ID)).toEqual([rules[2]!.ID]);
  });

  it('AU-25, AU-27: its events show no secret, neither in clear nor sealed', () => {
    const machine = aMachine();
    const PrivateKey = {
      SealedPemKey: 'sealed key',
      PemKeyFile: '',
      PemCert: '',
      PemCertFile: '',
      KeyID: 'k1',
      KeyIDHeader: 'kid' as const,
    };
    const Config = aMethodConfig({
      SealedClientSecret: 'sealed secret',
      OIDCClientAssertion: {
        KeySource: 'private_key',
        Audience: ['https://login.example.org'],
        KeyAlgorithm: 'RS256',
        PrivateKey,
        ExtraHeaders: null,
      },
    });
    const events = eventsOf(put(machine, anAuthMethod({ Type: 'OIDC', Config })))?.Events;
    expect(events).toMatchObject([
      {
        Topic: 'ACLAuthMethod',
        Type: 'ACLAuthMethodUpserted',
        Key: 'ci',
        Namespace: '',
        FilterKeys: null,
        Payload: {
          AuthMethod: {
            MaxTokenTTL: '1h0m0s',
            Config: {
              OIDCClientSecret: 'redacted',
              OIDCClientAssertion: { PrivateKey: { PemKey: 'redacted', KeyID: 'k1' } },
              ClockSkewLeeway: '',
            },
          },
        },
      },
    ]);
    const deleted = eventsOf(remove(machine, 'ci'))?.Events;
    expect(deleted).toMatchObject([{ Type: 'ACLAuthMethodDeleted', Key: 'ci' }]);
    for (const secret of ['sealed key', 'sealed secret'])
      expect(JSON.stringify([events, deleted])).not.toContain(secret);
    put(machine, anAuthMethod());
    expect(eventsOf(remove(machine, 'ci'))?.Events[0]?.Payload).toMatchObject({
      AuthMethod: { Config: { OIDCClientSecret: '', OIDCClientAssertion: null } },
    });
  });
});

describe('binding rules', () => {
  it('AU-32: their method exists when they are written, also when they are changed', () => {
    const machine = withMethod();
    const missing = { code: 'invalid', error: 'ACL binding rule insert failed: ACL auth method not found' };
    expect(bind(machine, aBindingRule({ AuthMethod: 'none' })).verdict).toMatchObject(missing);
    const rule = aBindingRule();
    bind(machine, rule);
    remove(machine, 'ci');
    expect(bind(machine, { ...rule, Description: 'new' }, true).verdict).toMatchObject(missing);
  });

  it('AU-33: never change their method, and one that is gone is not made again by an update', () => {
    const machine = withMethod();
    put(machine, anAuthMethod({ Name: 'people' }));
    const rule = aBindingRule();
    bind(machine, rule);
    expect(bind(machine, { ...rule, AuthMethod: 'people' }, true).verdict).toMatchObject({
      code: 'invalid',
      error: 'cannot update auth method for binding rule, create a new rule instead',
    });
    unbind(machine, rule.ID);
    expect(bind(machine, rule, true).verdict).toMatchObject({ error: `cannot find binding rule ${rule.ID}` });
  });

  it('AU-36: an equal write changes nothing; events have the method as their filter key', () => {
    const machine = withMethod();
    const rule = aBindingRule({ ModifyTime: EARLY });
    const first = bind(machine, rule);
    expect(eventsOf(first)?.Events).toMatchObject([
      {
        Topic: 'ACLBindingRule',
        Type: 'ACLBindingRuleUpserted',
        Key: rule.ID,
        FilterKeys: ['ci'],
        Payload: { ACLBindingRule: { ID: rule.ID, BindName: 'readers' } },
      },
    ]);
    const again = bind(machine, { ...rule, ModifyTime: LATE }, true);
    expect([again.verdict.kind, eventsOf(again)]).toEqual(['noop', null]);
    const changed = bind(machine, { ...rule, Selector: 'value.team == "ops"', ModifyTime: LATE }, true);
    expect(machine.tables.acl_binding_rules.get(rule.ID)).toMatchObject({
      CreateIndex: first.index,
      CreateTime: EARLY,
      ModifyIndex: changed.index,
      ModifyTime: LATE,
    });
    expect(eventsOf(unbind(machine, rule.ID))?.Events).toMatchObject([{ Type: 'ACLBindingRuleDeleted' }]);
    expect(unbind(machine, rule.ID).verdict).toMatchObject({
      code: 'not-found',
      error: 'ACL binding rule not found',
    });
  });
});
