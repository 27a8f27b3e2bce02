import { bindingRuleHash, type BindingRule, Refusal } from '@waybill/model';
import type { TxnPayloads } from '../log/catalogue.js';
import type { Appliers } from '../machine/applier.js';
import type { Write } from '../machine/write.js';

export const bindingRuleAppliers: Appliers<'ACLBindingRuleUpsert' | 'ACLBindingRuleDelete'> = {
  ACLBindingRuleUpsert: upsertBindingRule,
  ACLBindingRuleDelete: deleteBindingRule,
};

/** Type 57: writes a binding rule. An unchanged rule is not written (AU-36); its method never changes (AU-33). */
function upsertBindingRule(w: Write, { Rule: said, MustExist }: TxnPayloads['ACLBindingRuleUpsert']): void {
  const { ID, Description, AuthMethod, Selector, BindType, BindName, ModifyTime } = said;
  const stored = w.tables.acl_binding_rules.get(ID);
  if (!stored && MustExist) throw new Refusal('invalid', `cannot find binding rule ${ID}`);
  if (stored && stored.AuthMethod !== AuthMethod)
    throw new Refusal('invalid', 'cannot update auth method for binding rule, create a new rule instead');
  if (!w.tables.acl_auth_methods.has(AuthMethod))
    throw new Refusal('invalid', 'ACL binding rule insert failed: ACL auth method not found');
  const Hash = bindingRuleHash(said);
  if (stored?.Hash === Hash) return;
  const row: BindingRule = {
    ID,
    Description,
    AuthMethod,
    Selector,
    BindType,
    BindName,
    Hash,
    CreateTime: stored?.CreateTime ?? ModifyTime,
    ModifyTime,
    CreateIndex: stored?.CreateIndex ?? w.index,
    ModifyIndex: w.index,
  };
  w.put('acl_binding_rules', row);
}

/** Type 58: deletes a binding rule. */
function deleteBindingRule(w: Write, { ID }: TxnPayloads['ACLBindingRuleDelete']): void {
  if (!w.remove('acl_binding_rules', ID)) throw new Refusal('not-found', 'ACL binding rule not found');
}
