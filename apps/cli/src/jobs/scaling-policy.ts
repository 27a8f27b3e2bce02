import type { ScalingPolicy } from '@waybill/model';
import type { Display } from '../terminal/display.js';
import { keyValues, table } from '../terminal/table.js';

export type ScalingPolicyStub = Pick<ScalingPolicy, 'ID' | 'Enabled' | 'Type' | 'Target'>;

/** The outermost member first. */
const TARGET_MEMBERS = ['Namespace', 'Job', 'Group', 'Task'] as const;

/** Formats a target such as `Namespace:default,Job:web,Group:cache`. */
const targetOf = ({ Target }: Pick<ScalingPolicy, 'Target'>): string =>
  TARGET_MEMBERS.flatMap((member) => (Target?.[member] ? [`${member}:${Target[member]}`] : [])).join(',');

/** Lists scaling policies, sorted by target (CL-861). */
export function scalingPolicyTable(policies: readonly ScalingPolicyStub[], display: Display): string {
  const rows = policies
    .map((policy) => [display.id(policy.ID), String(policy.Enabled), policy.Type, targetOf(policy)] as const)
    .toSorted(([, , , a], [, , , b]) => (a < b ? -1 : a > b ? 1 : 0));
  return table([['ID', 'Enabled', 'Type', 'Target'], ...rows]);
}

/** Shows a scaling policy with its bounds and its policy as JSON (CL-861). */
export function scalingPolicyInFull(policy: ScalingPolicy, display: Display): string {
  const about = keyValues([
    ['ID', display.id(policy.ID)],
    ['Enabled', String(policy.Enabled)],
    ['Target', targetOf(policy)],
    ['Min', String(policy.Min)],
    ['Max', String(policy.Max)],
  ]);
  return `${about}\n\nPolicy:\n${JSON.stringify(policy.Policy, null, 4)}`;
}
