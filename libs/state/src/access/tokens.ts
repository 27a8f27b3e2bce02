import {
  aclTokenHash,
  type AclToken,
  type AclTokenSpecification,
  isExpiredAt,
  msFromNs,
  nsFromRfc3339,
  Refusal,
} from '@waybill/model';
import type { TxnPayloads } from '../log/catalogue.js';
import type { Appliers } from '../machine/applier.js';
import { SINGLETON_KEY } from '../machine/tables.js';
import type { Write } from '../machine/write.js';

export const tokenAppliers: Appliers<'ACLTokenUpsert' | 'ACLTokenDelete' | 'ACLTokenBootstrap'> = {
  ACLTokenUpsert: upsertTokens,
  ACLTokenDelete: deleteTokens,
  ACLTokenBootstrap: bootstrap,
};

/** Type 21, all or none. A token that says the same as before is written again, with a new ModifyIndex (OP-166). */
function upsertTokens(w: Write, { Tokens }: TxnPayloads['ACLTokenUpsert']): void {
  for (const said of Tokens) {
    for (const { ID } of said.Roles ?? [])
      if (!w.tables.acl_roles.has(ID)) throw new Refusal('invalid', `cannot find role ${ID}`);
    if (said.SecretHash === '') updateToken(w, said);
    else createToken(w, said);
  }
}

/** Accessor and secret are one token's only, so that nobody answers to another's name (OP-149). */
function createToken(w: Write, said: AclTokenSpecification): void {
  const { AccessorID, SecretHash } = said;
  if (w.tables.acl_token.has(AccessorID)) throw new Refusal('conflict', `ACL token ${AccessorID} already exists`);
  if (w.tables.acl_token.count('secret', SecretHash) > 0)
    throw new Refusal('conflict', 'the secret is that of another ACL token');
  w.put('acl_token', rowOf(said, w.index, w.index));
}

/** OP-150: what identifies a token, and how long it lives, is fixed when it is created. */
function updateToken(w: Write, said: AclTokenSpecification): void {
  const stored = w.tables.acl_token.get(said.AccessorID);
  if (!stored) throw new Refusal('invalid', `cannot find token ${said.AccessorID}`);
  const { SecretHash, SealedSecret, Global, CreateTime, ExpirationTime, ExpirationTTL } = stored;
  const kept = { SecretHash, SealedSecret, Global, CreateTime, ExpirationTime, ExpirationTTL };
  w.put('acl_token', rowOf({ ...said, ...kept }, stored.CreateIndex, w.index));
}

function rowOf(said: AclTokenSpecification, CreateIndex: number, ModifyIndex: number): AclToken {
  const { AccessorID, SecretHash, SealedSecret, Name, Type, Policies, Roles, Global } = said;
  const { CreateTime, ExpirationTime, ExpirationTTL } = said;
  return {
    AccessorID,
    SecretHash,
    SealedSecret,
    Name,
    Type,
    Policies,
    Roles,
    Global,
    Hash: aclTokenHash(said),
    CreateTime,
    ExpirationTime,
    ExpirationTTL,
    CreateIndex,
    ModifyIndex,
  };
}

/** Type 22. A user's names tokens that exist, all or none (OP-156); a collection's takes those that have expired. */
function deleteTokens(w: Write, { AccessorIDs, ExpiredBy }: TxnPayloads['ACLTokenDelete']): void {
  const stored = (id: string): AclToken | undefined => w.tables.acl_token.get(id);
  if (ExpiredBy !== undefined) {
    const atMs = msFromNs(nsFromRfc3339(ExpiredBy));
    for (const id of AccessorIDs) if (isExpiredAt(stored(id)?.ExpirationTime ?? null, atMs)) w.remove('acl_token', id);
    return;
  }
  const unknown = AccessorIDs.filter((id) => !stored(id));
  if (unknown.length > 0) throw new Refusal('invalid', `Cannot delete nonexistent tokens: ${unknown.join(', ')}`);
  for (const id of AccessorIDs) w.remove('acl_token', id);
}

/**
 * Type 23. Which of several bootstraps counts is decided here: the first, and after it one that names the index of the
 * one before (OP-144, OP-145), so that one number is worth one bootstrap.
 */
function bootstrap(w: Write, { Token, ResetIndex }: TxnPayloads['ACLTokenBootstrap']): void {
  const done = w.tables.acl_token_bootstrap.get(SINGLETON_KEY)?.ModifyIndex;
  if (done !== undefined && ResetIndex === 0)
    throw new Refusal('invalid', `ACL bootstrap already done (reset index: ${done})`);
  if (done !== undefined && ResetIndex !== done)
    throw new Refusal('invalid', `Invalid bootstrap reset index (specified ${ResetIndex}, reset index: ${done})`);
  createToken(w, Token);
  w.put('acl_token_bootstrap', { ModifyIndex: w.index });
}
