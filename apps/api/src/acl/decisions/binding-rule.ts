import {
  type BindingRule,
  type BindType,
  Filter,
  FilterSyntaxError,
  formatErrors,
  MAX_BIND_NAME_BYTES,
  MAX_RULE_DESCRIPTION_BYTES,
  MAX_SELECTOR_BYTES,
  nameLengthErrors,
  rfc3339FromMs,
} from '@waybill/model';
import type { Decision } from '@waybill/writing';
import { badRequest } from '../../http/api-error.js';
import type { GivenBindingRule } from '../binding-rule-request.js';

export interface BindingRuleContext {
  /** The stored rule with the ID in the request. */
  readonly stored: BindingRule | undefined;
  /** Says whether a method of this name exists. */
  readonly hasMethod: boolean;
  /** The ID for a new rule. */
  readonly newId: string;
  readonly nowMs: number;
}

export type BindingRuleDecision = Decision<'ACLBindingRuleUpsert'> & { readonly ruleId: string };

/**
 * Returns the given rule with the ID of its path (AU-35). @param pathId undefined if the path has none @throws Refusal
 * invalid
 */
export function ruleOfPath(given: GivenBindingRule, pathId: string | undefined): GivenBindingRule {
  const ID = given.ID || (pathId ?? '');
  if (pathId !== undefined && ID !== pathId) throw badRequest('ACL binding rule ID does not match request path');
  return { ...given, ID };
}

/** Returns the name of the method that a rule belongs to. A change without a name keeps it (AU-33). */
export const methodOfRule = ({ AuthMethod }: GivenBindingRule, stored: BindingRule | undefined): string =>
  AuthMethod || (stored?.AuthMethod ?? '');

/**
 * Creates a rule, or changes it if the request has an ID (AU-31 to AU-37). Its role or policy need not exist.
 * @throws Refusal invalid
 */
export function bindingRuleWrite(given: GivenBindingRule, context: BindingRuleContext): BindingRuleDecision {
  const { stored, hasMethod, newId, nowMs } = context;
  const MustExist = given.ID !== '';
  if (MustExist && !stored) throw badRequest(`cannot find binding rule ${given.ID}`);
  const rule = { ...mergedRule(given, stored), ID: MustExist ? given.ID : newId };
  if (stored && rule.AuthMethod !== stored.AuthMethod)
    throw badRequest('cannot update auth method for binding rule, create a new rule instead');
  const problems = ruleProblems(rule);
  if (problems.length > 0) throw badRequest(`binding rule 0 invalid: ${formatErrors(problems)}`);
  if (!hasMethod) throw badRequest(`ACL auth method ${rule.AuthMethod} not found`);
  // `ruleProblems` has refused all other types.
  const Rule = { ...rule, BindType: rule.BindType as BindType, ModifyTime: rfc3339FromMs(nowMs) };
  return { type: 'ACLBindingRuleUpsert', payload: { Rule, MustExist }, ruleId: rule.ID };
}

/** Fills in the members that an update omits (AU-33). It drops a name that the resulting type cannot have (AU-34). */
function mergedRule(given: GivenBindingRule, stored: BindingRule | undefined): GivenBindingRule {
  const BindType = given.BindType || (stored?.BindType ?? '');
  const kept = BindType === 'management' ? '' : (stored?.BindName ?? '');
  return { ...given, AuthMethod: methodOfRule(given, stored), BindType, BindName: given.BindName || kept };
}

/** Returns the problems of a binding rule in the order in which the contract lists them (AU-31). */
function ruleProblems({ AuthMethod, Description, Selector, BindType, BindName }: GivenBindingRule): string[] {
  const problems: string[] = [];
  if (AuthMethod === '') problems.push('auth method is missing');
  if (Buffer.byteLength(Description) > MAX_RULE_DESCRIPTION_BYTES)
    problems.push(`description longer than ${MAX_RULE_DESCRIPTION_BYTES}`);
  for (const item of bindProblems(BindType, BindName)) problems.push(item);
  const wrong = selectorProblem(Selector);
  if (wrong !== undefined) problems.push(`selector is invalid: ${wrong}`);
  for (const item of nameLengthErrors('bind name', BindName, MAX_BIND_NAME_BYTES)) problems.push(item);
  return problems;
}

function bindProblems(type: string, name: string): string[] {
  switch (type) {
    case '':
      return ['bind type is missing'];
    case 'role':
    case 'policy':
      return name === '' ? ['bind name is missing'] : [];
    case 'management':
      return name === '' ? [] : ['bind name should be empty'];
    default:
      return [`unsupported bind type: "${type}"`];
  }
}

/**
 * Returns why an expression is not a valid filter (AU-46). The result is undefined if it is valid, or empty and so
 * matches everybody.
 */
function selectorProblem(selector: string): string | undefined {
  if (selector === '') return undefined;
  const [tooLong] = nameLengthErrors('it', selector, MAX_SELECTOR_BYTES);
  if (tooLong !== undefined) return tooLong;
  try {
    Filter.parse(selector);
    return undefined;
  } catch (error) {
    if (error instanceof FilterSyntaxError) return error.message;
    throw error;
  }
}
