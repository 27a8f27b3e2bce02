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

export const tokenAppliers: Appliers<'ACLTokenUpsert' | 'ACLTokenDelete' | 'ACLTokenBootstrap' | 'ACLTokenRekey'> = {
  ACLTokenUpsert: upsertTokens,
  ACLTokenDelete: deleteTokens,
  ACLTokenBootstrap: bootstrapToken,
  ACLTokenRekey: rekeyTokens,
};

/** Type 21: writes tokens, all or none. An unchanged token is written too, with a new ModifyIndex (OP-166). */
function upsertTokens(w: Write, { Tokens }: TxnPayloads['ACLTokenUpsert']): void {
  for (const said of Tokens) {
    for (const { ID } of said.Roles ?? [])
      if (!w.tables.acl_roles.has(ID)) throw new Refusal('invalid', `cannot find role ${ID}`);
    if (said.SecretHash === '') updateToken(w, said);
    else createToken(w, said);
  }
}

/** Creates a token. Accessor and secret must be new, so that no token can pass for another one (OP-149). */
function createToken(w: Write, said: AclTokenSpecification): void {
  const { AccessorID, SecretHash } = said;
  if (w.tables.acl_token.has(AccessorID)) throw new Refusal('conflict', `ACL token ${AccessorID} already exists`);
  if (w.tables.acl_token.count('secret', SecretHash) > 0)
    throw new Refusal('conflict', 'the secret is that of another ACL token');
  w.put('acl_token', rowOf(said, w.index, w.index));
}

/** Updates a token. Its identity and lifetime are fixed at its creation (OP-150). */
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

/**
 * Type 22: deletes tokens. A user's request names existing tokens, all or none (OP-156); a collection deletes those
 * that have expired.
 */
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
 * Type 104: stores secrets of tokens under another key. A token is left alone if it is gone, if another process has stored
 * its secret anew, or if another token has that secret by now: no two tokens share one. No event says so, because nothing
 * changes for anybody.
 */
function rekeyTokens(w: Write, { Tokens }: TxnPayloads['ACLTokenRekey']): void {
  for (const { AccessorID, FormerHash, SecretHash, SealedSecret } of Tokens) {
    const stored = w.tables.acl_token.get(AccessorID);
    if (stored?.SecretHash !== FormerHash || w.tables.acl_token.count('secret', SecretHash) > 0) continue;
    w.put('acl_token', { ...stored, SecretHash, SealedSecret, ModifyIndex: w.index });
  }
}

/**
 * Type 23: bootstraps access control. The state machine decides which of several bootstraps counts: the first one, and
 * after it one that names the index of the previous one (OP-144, OP-145), so that each index allows one bootstrap.
 */
function bootstrapToken(w: Write, { Token, ResetIndex }: TxnPayloads['ACLTokenBootstrap']): void {
  const done = w.tables.acl_token_bootstrap.get(SINGLETON_KEY)?.ModifyIndex;
  if (done !== undefined && ResetIndex === 0)
    throw new Refusal('invalid', `ACL bootstrap already done (reset index: ${done})`);
  if (done !== undefined && ResetIndex !== done)
    throw new Refusal('invalid', `Invalid bootstrap reset index (specified ${ResetIndex}, reset index: ${done})`);
  createToken(w, Token);
  w.put('acl_token_bootstrap', { ModifyIndex: w.index });
}
