import { type AclToken, ONE_TIME_TOKEN_TTL_MS, rfc3339FromMs, type WireObject } from '@waybill/model';
import type { ReadModel } from '@waybill/projection';
import type { Author, TransactionWriter } from '@waybill/writing';
import { randomUUID } from 'node:crypto';
import { forbidden } from '../http/api-error.js';
import type { AccessControl } from './access-control.js';
import type { TokenAnswers } from './token-answers.js';

export interface OneTimeTokensDeps {
  readonly model: ReadModel;
  readonly writes: TransactionWriter;
  readonly access: AccessControl;
  readonly answers: TokenAnswers;
}

/** OneTimeTokens makes tokens that can be exchanged once for the token of their maker (OP-159, AU-241 to AU-244). */
export class OneTimeTokens {
  constructor(private readonly deps: OneTimeTokensDeps) {}

  async create({ AccessorID }: Pick<AclToken, 'AccessorID'>, author: Author) {
    const { writes, access } = this.deps;
    const OneTimeSecretID = randomUUID();
    const Token = {
      AccessorID,
      OneTimeSecretHash: access.on.secrets.hash(OneTimeSecretID),
      ExpiresAt: rfc3339FromMs(writes.nowMs() + ONE_TIME_TOKEN_TTL_MS),
    };
    const { index } = await writes.write({ type: 'OneTimeTokenUpsert', payload: { Token } }, author);
    const { ExpiresAt } = Token;
    return { OneTimeSecretID, AccessorID, ExpiresAt, CreateIndex: index, ModifyIndex: index };
  }

  /**
   * Exchanges a one-time secret. For a secret that is certainly invalid it writes nothing to the log. Of several
   * concurrent callers, the log decides which one gets the token.
   * @throws Refusal forbidden if the secret is not valid
   */
  async exchange(secret: string, author: Author): Promise<{ readonly token: WireObject; readonly index: number }> {
    const { writes, access, answers } = this.deps;
    const OneTimeSecretHash = await this.storedHash(access.on.secrets.hashes(secret.toLowerCase()));
    if (OneTimeSecretHash === undefined) throw forbidden('Permission denied');
    const { index, result } = await writes.write(
      { type: 'OneTimeTokenDelete', payload: { OneTimeSecretHash } },
      author,
    );
    const token = typeof result === 'string' ? await answers.wholeById(result) : undefined;
    if (!token) throw forbidden('Permission denied'); // deleted in the moment since
    return { token, index };
  }

  private async storedHash(hashes: readonly string[]): Promise<string | undefined> {
    for (const hash of hashes) if (await this.deps.model.access.oneTimeToken(hash)) return hash;
    return undefined;
  }
}
