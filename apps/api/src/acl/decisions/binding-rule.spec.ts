import type { BindingRule } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import type { GivenBindingRule } from '../binding-rule-request.js';
import { type BindingRuleContext, bindingRuleWrite, methodOfRule, ruleOfPath } from './binding-rule.js';

const NEW_ID = fixtures.uuid(1);
const context = (over: Partial<BindingRuleContext> = {}): BindingRuleContext => ({
  stored: undefined,
  hasMethod: true,
  newId: NEW_ID,
  nowMs: 0,
  ...over,
});
const given = (over: Partial<GivenBindingRule> = {}): GivenBindingRule => ({
  ID: '',
  Description: '',
  AuthMethod: 'ci',
  Selector: '',
  BindType: 'policy',
  BindName: 'readers',
  ...over,
});
/** All that a request leaves out. */
const nothing = (ID: string): GivenBindingRule => given({ ID, AuthMethod: '', BindType: '', BindName: '' });

function refusal(rule: GivenBindingRule, over: Partial<BindingRuleContext> = {}): string {
  try {
    bindingRuleWrite(rule, context(over));
    return 'it was taken';
  } catch (error) {
    return (error as Error).message;
  }
}
const frame = (...problems: string[]): string => {
  const title = problems.length === 1 ? '1 error occurred:' : `${problems.length} errors occurred:`;
  return `binding rule 0 invalid: ${title}${problems.map((problem) => `\n\t* ${problem}`).join('')}\n\n`;
};

describe('AU-31: what is wrong with a rule', () => {
  it('is said in one order', () => {
    const wrong = {
      AuthMethod: '',
      Description: 'é'.repeat(129),
      BindType: '',
      BindName: '',
      Selector: 'value.team ==',
    };
    const text = refusal(given(wrong), { hasMethod: false });
    expect(text.split('\n\t* ').slice(0, 4)).toEqual([
      'binding rule 0 invalid: 4 errors occurred:',
      'auth method is missing',
      'description longer than 256',
      'bind type is missing',
    ]);
    expect(text).toMatch(/\n\t\* selector is invalid: .+\n\n$/);
  });

  it.each<[Partial<GivenBindingRule>, string]>([
    [{ BindName: '' }, 'bind name is missing'],
    [{ BindType: 'role', BindName: '' }, 'bind name is missing'],
    [{ BindType: 'management' }, 'bind name should be empty'],
    [{ BindType: 'Policy' }, 'unsupported bind type: "Policy"'],
    [{ BindName: 'x'.repeat(1_025) }, 'bind name must be at most 1024 bytes, currently 1025'],
    [{ Selector: 'x'.repeat(8_193) }, 'selector is invalid: it must be at most 8192 bytes, currently 8193'],
  ])('%j', (over, problem) => {
    expect(refusal(given(over))).toBe(frame(problem));
  });

  it.each([
    'value.team == "ops"',
    '"admins" in list.groups',
    'list.groups is not empty',
    'value.mail matches "@example\\\\.org$"',
    'any list.groups as g { g matches "^ops-" }',
    '"/value/a-b" == "c" and value["a-b"] != "d"',
  ])('AU-46: %s is a selector', (Selector) => {
    expect(refusal(given({ Selector }))).toBe('it was taken');
  });
});

describe('a rule that is created', () => {
  it('AU-32: needs its method; AU-37: but neither role nor policy', () => {
    expect(refusal(given(), { hasMethod: false })).toBe('ACL auth method ci not found');
    const decision = bindingRuleWrite(given({ BindType: 'role', BindName: 'nobody-has-it-${value.team}' }), context());
    expect(decision).toMatchObject({
      ruleId: NEW_ID,
      payload: { MustExist: false, Rule: { ID: NEW_ID, ModifyTime: '1970-01-01T00:00:00.000Z' } },
    });
  });
});

describe('a rule that is changed', () => {
  const stored: BindingRule = fixtures.aBindingRule({ Description: 'for all', Selector: 'value.team == "ops"' });
  const changed = (over: Partial<GivenBindingRule>, before = stored) =>
    bindingRuleWrite({ ...nothing(before.ID), ...over }, context({ stored: before })).payload;

  it('AU-33: keeps method, type and name; without a selector it matches everybody', () => {
    expect(changed({})).toMatchObject({
      MustExist: true,
      Rule: { ID: stored.ID, AuthMethod: 'ci', BindType: 'policy', BindName: 'readers', Description: '', Selector: '' },
    });
    expect(methodOfRule(nothing(stored.ID), stored)).toBe('ci');
  });

  it('AU-33: must be there, and stays with its method', () => {
    expect(refusal(nothing('gone'))).toBe('cannot find binding rule gone');
    expect(refusal(given({ ID: stored.ID, AuthMethod: 'people' }), { stored })).toBe(
      'cannot update auth method for binding rule, create a new rule instead',
    );
  });

  it('AU-34: switched to management it loses its name, switched back it needs one', () => {
    expect(changed({ BindType: 'management' }).Rule).toMatchObject({ BindType: 'management', BindName: '' });
    const before = { ...stored, BindType: 'management' as const, BindName: '' };
    expect(changed({}, before).Rule).toMatchObject({ BindType: 'management', BindName: '' });
    expect(refusal({ ...nothing(stored.ID), BindType: 'role' }, { stored: before })).toBe(
      frame('bind name is missing'),
    );
  });
});

it('AU-35: an empty ID is that of the path, another one is refused', () => {
  expect(ruleOfPath(given(), 'a').ID).toBe('a');
  expect(ruleOfPath(given({ ID: 'a' }), 'a').ID).toBe('a');
  expect(ruleOfPath(given({ ID: 'a' }), undefined).ID).toBe('a');
  expect(() => ruleOfPath(given({ ID: 'b' }), 'a')).toThrow('ACL binding rule ID does not match request path');
});
