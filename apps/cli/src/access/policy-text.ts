import type { AclPolicy } from '@waybill/model';
import { escapeControls, keyValues, table } from '../terminal/table.js';

/** A policy in a list. */
export type PolicyStub = Omit<AclPolicy, 'Rules'>;

/** Lists policies (CL-843). */
export const policyTable = (policies: readonly PolicyStub[]): string =>
  table([['Name', 'Description'], ...policies.map(({ Name, Description }) => [Name, Description])]);

const UNAVAILABLE = '<unavailable>';

/** Lists the caller's policies with their workloads (AU-302). */
export const ownPolicyTable = (policies: readonly PolicyStub[]): string =>
  table(
    [
      ['Name', 'Job ID', 'Group Name', 'Task Name'],
      ...policies.map(({ Name, JobACL }) => [Name, JobACL?.JobID, JobACL?.Group, JobACL?.Task]),
    ],
    UNAVAILABLE,
  );

/** Lists the members of a policy except its rules (CL-843). */
export const policyList = ({ Name, Description, CreateIndex, ModifyIndex }: PolicyStub): string =>
  keyValues([
    ['Name', Name],
    ['Description', Description],
    ['CreateIndex', String(CreateIndex)],
    ['ModifyIndex', String(ModifyIndex)],
  ]);

/** Returns the workload of a policy, or undefined if it has none (CL-843). */
export function associatedWorkload({ JobACL }: Pick<PolicyStub, 'JobACL'>): string | undefined {
  if (JobACL === null || JobACL.JobID === '') return undefined;
  return keyValues([
    ['Namespace', JobACL.Namespace],
    ['JobID', JobACL.JobID],
    ['Group', JobACL.Group],
    ['Task', JobACL.Task],
  ]);
}

/** Returns the rules as they were written, including tabs. Other control characters are escaped (CL-139). */
export const rulesText = (rules: string): string => rules.trimEnd().split('\t').map(escapeControls).join('\t');
