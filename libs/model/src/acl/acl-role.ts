import { contentHash } from '../encoding/content-hash.js';
import { MAX_ACL_DESCRIPTION_CHARS } from '../limits/acl-limits.js';
import { NAMESPACE_NAME } from '../limits/name-limits.js';
import { policyLinkProblems } from './acl-token.js';

export interface AclPolicyLink {
  Name: string;
}

/** A stored role: a named set of policies. */
export interface AclRole {
  ID: string;
  Name: string;
  Description: string;
  Policies: AclPolicyLink[];
  Hash: string;
  CreateIndex: number;
  ModifyIndex: number;
}

/** The members of a role that a user may set. */
export type AclRoleSpecification = Omit<AclRole, 'Hash' | 'CreateIndex' | 'ModifyIndex'>;

/** Two roles with the same specification have the same hash. */
export const aclRoleHash = ({ Name, Description, Policies }: AclRoleSpecification): string =>
  contentHash({ Name, Description, Policies });

/** Returns the problems of a role specification (OP-165). Whether its policies exist is not checked here. */
export function aclRoleProblems({ Name, Description, Policies }: AclRoleSpecification): string[] {
  const problems: string[] = [];
  if (!NAMESPACE_NAME.test(Name)) problems.push(`invalid name '${Name}'`);
  if (Array.from(Description).length > MAX_ACL_DESCRIPTION_CHARS)
    problems.push(`description longer than ${MAX_ACL_DESCRIPTION_CHARS}`);
  if (Policies.length === 0) problems.push('at least one policy should be specified');
  return [...problems, ...policyLinkProblems(Policies.map((policy) => policy.Name))];
}
