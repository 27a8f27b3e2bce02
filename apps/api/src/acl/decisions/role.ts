import { aclRoleProblems, type AclRole, type AclRoleSpecification, formatErrors } from '@waybill/model';
import type { Decision } from '@waybill/writing';
import { badRequest } from '../../http/api-error.js';

export interface RoleContext {
  /** The ID in the path. It is undefined if the path has none. */
  readonly pathId: string | undefined;
  /** The stored role with the ID in the request. */
  readonly stored: AclRole | undefined;
  /** The stored role with the name in the request. */
  readonly namesake: AclRole | undefined;
  /** The names of those named policies that exist. */
  readonly policies: readonly string[];
  readonly newUuid: () => string;
}

export type RoleDecision = Decision<'ACLRolesUpsert'> & { readonly roleId: string };

/** Creates a role, or changes it if the request has an ID (OP-165). @throws Refusal invalid */
export function roleWrite(given: AclRoleSpecification, context: RoleContext): RoleDecision {
  const { pathId, stored, namesake, policies, newUuid } = context;
  if (pathId !== undefined && given.ID !== pathId) throw badRequest('ACL role ID does not match request path');
  const MustExist = given.ID !== '';
  if (MustExist && !stored) throw badRequest(`cannot find role ${given.ID}`);
  const Policies = [...new Set(given.Policies.map(({ Name }) => Name))].map((Name) => ({ Name }));
  const role = { ...given, ID: MustExist ? given.ID : newUuid(), Policies };
  const problems = aclRoleProblems(role);
  if (problems.length > 0) throw badRequest(`role 0 invalid: ${formatErrors(problems)}`);
  for (const { Name } of Policies) if (!policies.includes(Name)) throw badRequest(`cannot find policy ${Name}`);
  if (namesake && namesake.ID !== role.ID) throw badRequest(`role with name ${role.Name} already exists`);
  return { type: 'ACLRolesUpsert', payload: { Roles: [role], MustExist }, roleId: role.ID };
}
