import {
  type AuthMethod,
  type BindingRule,
  type MappedClaims,
  NAMESPACE_NAME,
  Refusal,
  StepBudget,
} from '@waybill/model';
import { filledIn, NameTemplateError, type Variables } from './name-template.js';
import { MAX_SELECTOR_STEPS_PER_LOGIN, selectorMatches } from './selector.js';

/** NamingMethod has the members of a method from which names are made. */
export type NamingMethod = Pick<AuthMethod, 'Name' | 'Type' | 'TokenNameFormat'> & {
  readonly Config: Pick<AuthMethod['Config'], 'ClaimMappings'>;
};

/**
 * BoundNames are the grants that the rules of a method give to a login, by name and each once. It is not known yet
 * whether they exist.
 */
export interface BoundNames {
  /** With `management` there are no other grants. */
  readonly kind: 'management' | 'client';
  readonly roles: readonly string[];
  readonly policies: readonly string[];
}

/** RuleVerdict says for logs how one rule was decided. It contains no claim. */
export interface RuleVerdict {
  readonly rule: string;
  readonly matches: boolean;
  readonly problem?: string;
}

const byId = ({ ID: one }: BindingRule, { ID: other }: BindingRule): number =>
  Buffer.compare(Buffer.from(one), Buffer.from(other));

/**
 * Applies the binding rules of a method, in order of their IDs, to the claims of a login (AU-61 to AU-64). A rule that
 * gives management ends the evaluation: all earlier grants are dropped, and later rules are not evaluated.
 * @param rules the rules of this method
 * @param judged receives the verdict of each rule
 * @throws Refusal internal if a name cannot be made (AU-53); invalid if the name is not valid (AU-54)
 */
export function boundNames(
  method: NamingMethod,
  rules: readonly BindingRule[],
  claims: MappedClaims,
  judged: (verdict: RuleVerdict) => void,
): BoundNames {
  const budget = new StepBudget(MAX_SELECTOR_STEPS_PER_LOGIN);
  const variables = bindVariables(method, claims);
  const names = { role: new Set<string>(), policy: new Set<string>() };
  for (const rule of rules.toSorted(byId)) {
    const verdict = selectorMatches(rule.Selector, claims, budget);
    judged({ rule: rule.ID, ...verdict });
    if (!verdict.matches) continue;
    if (rule.BindType === 'management') return { kind: 'management', roles: [], policies: [] };
    names[rule.BindType].add(bindName(rule, variables));
  }
  return { kind: 'client', roles: [...names.role], policies: [...names.policy] };
}

/** Returns the name of the token that a login makes (AU-55). @throws Refusal internal */
export function tokenName(method: NamingMethod, claims: MappedClaims): string {
  const variables = new Map([
    ...valueVariables(method, claims),
    ['auth_method_type', method.Type],
    ['auth_method_name', method.Name],
  ]);
  try {
    return filledIn(method.TokenNameFormat, variables);
  } catch (error) {
    if (!(error instanceof NameTemplateError)) throw error;
    throw new Refusal('internal', `failed to generate ACL token name: ${error.message}`);
  }
}

function bindName({ BindType, BindName }: BindingRule, variables: Variables): string {
  const name = computeName(BindType, BindName, variables);
  if (!NAMESPACE_NAME.test(name))
    throw new Refusal('invalid', `computed "${BindType}" bind name for bind target is invalid: "${name}"`);
  return name;
}

function computeName(type: string, template: string, variables: Variables): string {
  try {
    return filledIn(template, variables);
  } catch (error) {
    if (!(error instanceof NameTemplateError)) throw error;
    throw new Refusal('internal', `cannot compute "${type}" bind name for bind target: ${error.message}`);
  }
}

/** The names of roles and policies are made from values in lower case (AU-52). */
const bindVariables = (method: NamingMethod, claims: MappedClaims): Variables =>
  new Map(valueVariables(method, claims).map(([name, value]) => [name, value.toLowerCase()]));

/** A mapped name without a value is empty. */
const valueVariables = ({ Config }: NamingMethod, { value }: MappedClaims): [string, string][] =>
  Object.values(Config.ClaimMappings ?? {}).map((target) => [
    `value.${target}`,
    (Object.hasOwn(value, target) ? value[target] : undefined) ?? '',
  ]);
