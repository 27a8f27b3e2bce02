import { authMethodHash, type AuthMethod, type AuthMethodSpecification, Refusal } from '@waybill/model';
import type { TxnPayloads } from '../log/catalogue.js';
import type { Appliers } from '../machine/applier.js';
import { compareText } from '../machine/row-order.js';
import { SINGLETON_KEY } from '../machine/tables.js';
import type { Write } from '../machine/write.js';

export const authMethodAppliers: Appliers<'ACLAuthMethodUpsert' | 'ACLAuthMethodDelete'> = {
  ACLAuthMethodUpsert: upsertAuthMethod,
  ACLAuthMethodDelete: deleteAuthMethod,
};

/** Type 55: writes a login method. An unchanged method is not written (AU-21); CreateTime stays (AU-22). */
function upsertAuthMethod(w: Write, { AuthMethod: said }: TxnPayloads['ACLAuthMethodUpsert']): void {
  checkDefault(w, said);
  const stored = w.tables.acl_auth_methods.get(said.Name);
  const Hash = authMethodHash(said);
  if (stored?.Hash === Hash) return;
  const { Name, Type, TokenLocality, TokenNameFormat, MaxTokenTTL, Default, Config, ModifyTime } = said;
  const row: AuthMethod = {
    Name,
    Type,
    TokenLocality,
    TokenNameFormat,
    MaxTokenTTL,
    Default,
    Config,
    Hash,
    CreateTime: stored?.CreateTime ?? ModifyTime,
    ModifyTime,
    CreateIndex: stored?.CreateIndex ?? w.index,
    ModifyIndex: w.index,
  };
  w.put('acl_auth_methods', row);
}

/** Only one method may be the default, over both types (AU-20). */
function checkDefault({ tables }: Write, { Name, Default }: AuthMethodSpecification): void {
  if (!Default) return;
  for (const other of tables.acl_auth_methods.by('default', SINGLETON_KEY))
    if (other.Name !== Name) throw new Refusal('invalid', `default ACL auth method already exists: ${other.Name}`);
}

/**
 * Type 56: deletes a login method. Its binding rules stay, and apply to a new method of the name, unless they are
 * deleted too (AU-23).
 */
function deleteAuthMethod(w: Write, { Name, WithRules }: TxnPayloads['ACLAuthMethodDelete']): void {
  if (!w.remove('acl_auth_methods', Name)) throw new Refusal('not-found', 'ACL auth method not found');
  if (!WithRules) return;
  const rules = Array.from(w.tables.acl_binding_rules.by('method', Name), ({ ID }) => ID);
  for (const id of rules.toSorted(compareText)) w.remove('acl_binding_rules', id);
}
