import { aclRoleProblems, type AclRole, type AclRoleSpecification, formatErrors } from '@waybill/model';
import type { Decision } from '@waybill/writing';
import { badRequest } from '../../http/api-error.js';

export interface RoleContext {
  /** ID in the path; undefined: it has none. */
  readonly pathId: string | undefined;
  /** The role whose ID the request names. */
  readonly stored: AclRole | undefined;
  /** The role that has the name which the request gives. */
  readonly namesake: AclRole | undefined;
  /** Names of the policies that exist among those named. */
  readonly policies: readonly string[];
  readonly newUuid: () => string;
}

export type RoleDecision = Decision<'ACLRolesUpsert'> & { readonly roleId: string };

/** A role is created, or with an ID changed (OP-165). @throws Refusal invalid */
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
