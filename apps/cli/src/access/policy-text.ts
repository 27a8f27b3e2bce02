import type { AclPolicy } from '@waybill/model';
import { escapeControls, keyValues, table } from '../terminal/table.js';

/** A policy of a list. */
export type PolicyStub = Omit<AclPolicy, 'Rules'>;

/** Policies of a list (CL-843). */
export const policyTable = (policies: readonly PolicyStub[]): string =>
  table([['Name', 'Description'], ...policies.map(({ Name, Description }) => [Name, Description])]);

const UNAVAILABLE = '<unavailable>';

/** The policies of the caller, and the workload that each belongs to (AU-302). */
export const ownPolicyTable = (policies: readonly PolicyStub[]): string =>
  table(
    [
      ['Name', 'Job ID', 'Group Name', 'Task Name'],
      ...policies.map(({ Name, JobACL }) => [Name, JobACL?.JobID, JobACL?.Group, JobACL?.Task]),
    ],
    UNAVAILABLE,
  );

/** What a policy is, without its rules (CL-843). */
export const policyList = ({ Name, Description, CreateIndex, ModifyIndex }: PolicyStub): string =>
  keyValues([
    ['Name', Name],
    ['Description', Description],
    ['CreateIndex', String(CreateIndex)],
    ['ModifyIndex', String(ModifyIndex)],
  ]);

/** The workload that a policy belongs to; undefined: none (CL-843). */
export function associatedWorkload({ JobACL }: Pick<PolicyStub, 'JobACL'>): string | undefined {
  if (JobACL === null || JobACL.JobID === '') return undefined;
  return keyValues([
    ['Namespace', JobACL.Namespace],
    ['JobID', JobACL.JobID],
    ['Group', JobACL.Group],
    ['Task', JobACL.Task],
  ]);
}

/** Rules as they were written, tabs too; other control characters drive no terminal (CL-139). */
export const rulesText = (rules: string): string => rules.trimEnd().split('\t').map(escapeControls).join('\t');
