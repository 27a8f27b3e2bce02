import type { BindingRule } from '@waybill/model';
import type { Call } from '../command-spec.js';
import type { Answer } from '../server/api-client.js';
import { keyValues, table } from '../terminal/table.js';
import { absoluteTime } from '../terminal/times.js';

/** A rule in a list. */
export type RuleStub = Pick<BindingRule, 'ID' | 'Description' | 'AuthMethod'>;

/** Prints a rule as text or as data (AU-299). */
export function printRule(
  { data, terminal }: Pick<Call, 'data' | 'terminal'>,
  { value, exact }: Answer<BindingRule>,
): void {
  if (data) data(exact);
  else terminal.print(ruleList(value));
}

/** Lists the members of a rule (AU-299). */
export const ruleList = (rule: BindingRule): string =>
  keyValues([
    ['ID', rule.ID],
    ['Description', rule.Description],
    ['Auth Method', rule.AuthMethod],
    ['Selector', JSON.stringify(rule.Selector)],
    ['Bind Type', rule.BindType],
    ['Bind Name', rule.BindName],
    ['Create Time', absoluteTime(rule.CreateTime)],
    ['Modify Time', absoluteTime(rule.ModifyTime)],
    ['Create Index', String(rule.CreateIndex)],
    ['Modify Index', String(rule.ModifyIndex)],
  ]);

/** Lists rules (AU-300). */
export const ruleTable = (rules: readonly RuleStub[]): string =>
  table([
    ['ID', 'Description', 'Auth Method'],
    ...rules.map(({ ID, Description, AuthMethod }) => [ID, Description, AuthMethod]),
  ]);
