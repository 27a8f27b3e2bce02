import type { WireObject } from '@waybill/model';
import type { Author } from '@waybill/writing';
import { randomUUID } from 'node:crypto';
import { notFound } from '../http/api-error.js';
import { bootstrapOf } from './decisions/bootstrap.js';
import type { TokenWritesDeps } from './token-writes.js';

/** Creates the first management token (OP-143 to OP-146). */
export class BootstrapAccess {
  constructor(private readonly deps: TokenWritesDeps) {}

  /** @param secret the secret of the token; if it is empty, a new one is made @throws Refusal */
  async bootstrap(secret: string, author: Author): Promise<{ readonly token: WireObject; readonly index: number }> {
    const { model, writes, access, answers } = this.deps;
    const { secrets, reset } = access.on;
    const decision = bootstrapOf(secret, {
      doneIndex: await model.access.bootstrapIndex(),
      resetIndex: await reset.index(),
      secrets,
      nowMs: writes.nowMs(),
      newUuid: randomUUID,
    });
    const { index } = await writes.write(decision, author);
    const token = await answers.wholeById(decision.accessorId);
    if (!token) throw notFound('ACL token not found');
    return { token, index };
  }
}
