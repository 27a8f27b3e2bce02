import { type AclToken, encodeAclToken, encodeAclTokenStub, type WireObject } from '@waybill/model';
import { ReadModel } from '@waybill/projection';
import type { AccessControl } from './access-control.js';

export const TOKEN_NOT_FOUND = 'ACL token not found';

/**
 * TokenAnswers makes answers from stored tokens: with the current names of their roles, and with the secret where it is
 * shown.
 */
export class TokenAnswers {
  constructor(
    private readonly model: ReadModel,
    private readonly access: AccessControl,
  ) {}

  /** Returns a token in its form for callers who may see its secret. @throws UnsealableError */
  async whole(token: AclToken): Promise<WireObject> {
    const secretId = this.access.on.secrets.open(token.AccessorID, token.SealedSecret);
    return encodeAclToken(token, { secretId, roleNames: await this.roleNames([token]) });
  }

  /**
   * Returns the stored token in its form for callers who may see its secret. The result is undefined if no token has
   * this accessor ID.
   */
  async wholeById(accessorId: string): Promise<WireObject | undefined> {
    return (await this.object(accessorId)).value;
  }

  /** Returns the same with the index at which it was read. */
  async object(accessorId: string): Promise<{ readonly index: number; readonly value: WireObject | undefined }> {
    const { index, row } = await this.model.access.token(accessorId);
    return { index, value: row && (await this.whole(row)) };
  }

  /** Returns a page of tokens without their secrets. */
  async list(options: Parameters<ReadModel['access']['tokens']>[0]) {
    const { index, rows, nextToken } = await this.model.access.tokens(options);
    const roleNames = await this.roleNames(rows);
    return { index, nextToken, value: rows.map((token) => encodeAclTokenStub(token, roleNames)) };
  }

  private roleNames(tokens: readonly AclToken[]): Promise<ReadonlyMap<string, string>> {
    const ids = tokens.flatMap(({ Roles }) => (Roles ?? []).map(({ ID }) => ID));
    return this.model.access.roleNames([...new Set(ids)]);
  }
}

/** The token that everybody has while access control is off (OP-111). */
export const EVERYBODY = pseudoToken('acls-disabled', 'ACLs disabled token', null);
/** The token of a caller without one (OP-112). */
export const ANONYMOUS = pseudoToken('anonymous', 'Anonymous Token', ['anonymous']);

function pseudoToken(AccessorID: string, Name: string, Policies: string[] | null): WireObject {
  return {
    AccessorID,
    SecretID: '',
    Name,
    Type: 'client',
    Policies,
    Roles: null,
    Global: false,
    Hash: '',
    CreateTime: null,
    ExpirationTime: null,
    ExpirationTTL: '',
    CreateIndex: 0,
    ModifyIndex: 0,
  };
}
