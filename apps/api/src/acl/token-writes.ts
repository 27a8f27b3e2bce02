import type { WireObject } from '@waybill/model';
import type { ReadModel } from '@waybill/projection';
import type { Author, TransactionWriter } from '@waybill/writing';
import { randomUUID } from 'node:crypto';
import { badRequest, notFound } from '../http/api-error.js';
import type { AccessControl } from './access-control.js';
import { tokenWrite } from './decisions/token.js';
import { type TokenAnswers, TOKEN_NOT_FOUND } from './token-answers.js';
import type { GivenToken } from './token-request.js';

export interface TokenWritesDeps {
  readonly model: ReadModel;
  readonly writes: TransactionWriter;
  readonly access: AccessControl;
  readonly answers: TokenAnswers;
}

/** Creates, changes and deletes tokens (OP-147 to OP-158). */
export class TokenWrites {
  constructor(private readonly deps: TokenWritesDeps) {}

  /** @throws Refusal */
  async upsert(given: GivenToken, author: Author): Promise<{ readonly token: WireObject; readonly index: number }> {
    const decision = tokenWrite(given, await this.contextOf(given));
    const { index } = await this.deps.writes.write(decision, author);
    const token = await this.deps.answers.wholeById(decision.accessorId);
    if (!token) throw notFound(TOKEN_NOT_FOUND); // deleted in the moment since
    return { token, index };
  }

  /** Resolves with the index. @throws Refusal invalid if there is no such token */
  async delete(accessor: string, author: Author): Promise<number> {
    const { model, writes } = this.deps;
    if (!(await model.access.token(accessor)).row) throw badRequest(`Cannot delete nonexistent tokens: ${accessor}`);
    const { index } = await writes.write({ type: 'ACLTokenDelete', payload: { AccessorIDs: [accessor] } }, author);
    return index;
  }

  private async contextOf({ AccessorID, Roles }: GivenToken) {
    const { access } = this.deps.model;
    const links = await Promise.all(
      (Roles ?? []).map(async ({ ID, Name }) => (ID === '' ? access.roleByName(Name) : access.role(ID))),
    );
    const { secrets, limits } = this.deps.access.on;
    return {
      stored: AccessorID === '' ? undefined : (await access.token(AccessorID.toLowerCase())).row,
      roles: links.flatMap(({ row }) => row ?? []),
      secrets,
      limits,
      nowMs: this.deps.writes.nowMs(),
      newUuid: randomUUID,
    };
  }
}
