import { aclRoleHash, type AclRole, type AclRoleSpecification, Refusal } from '@waybill/model';
import type { TxnPayloads } from '../log/catalogue.js';
import type { Appliers } from '../machine/applier.js';
import type { Write } from '../machine/write.js';

export const roleAppliers: Appliers<'ACLRolesUpsert' | 'ACLRolesDelete'> = {
  ACLRolesUpsert: upsertRoles,
  ACLRolesDelete: deleteRoles,
};

/** Type 53: writes roles, all or none (OP-165). An unchanged role is not written (OP-166). */
function upsertRoles(w: Write, { Roles, MustExist }: TxnPayloads['ACLRolesUpsert']): void {
  for (const { ID, Name, Description, Policies } of Roles) {
    const said: AclRoleSpecification = {
      ID,
      Name,
      Description,
      Policies: Policies.map((link) => ({ Name: link.Name })),
    };
    const stored = w.tables.acl_roles.get(ID);
    if (!stored && MustExist) throw new Refusal('invalid', `cannot find role ${ID}`);
    checkRole(w, said);
    const Hash = aclRoleHash(said);
    if (stored?.Hash === Hash) continue;
    const row: AclRole = { ...said, Hash, CreateIndex: stored?.CreateIndex ?? w.index, ModifyIndex: w.index };
    w.put('acl_roles', row);
  }
}

/** Refuses a role with unknown policies, or with the name of another role. */
function checkRole({ tables }: Write, { ID, Name, Policies }: AclRoleSpecification): void {
  for (const policy of Policies)
    if (!tables.acl_policy.has(policy.Name)) throw new Refusal('invalid', 'ACL policy not found');
  for (const other of tables.acl_roles.by('name', Name))
    if (other.ID !== ID) throw new Refusal('invalid', `ACL role with name ${Name} already exists`);
}

/** Type 54: deletes roles, all or none. Tokens keep their links, which grant nothing any more (OP-153). */
function deleteRoles(w: Write, { IDs }: TxnPayloads['ACLRolesDelete']): void {
  for (const id of IDs) if (!w.remove('acl_roles', id)) throw new Refusal('not-found', 'ACL role not found');
}
