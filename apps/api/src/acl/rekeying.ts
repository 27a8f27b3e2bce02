import type { AuthMethod } from '@waybill/model';
import type { ReadModel } from '@waybill/projection';
import type { Author, TransactionWriter } from '@waybill/writing';
import type { AccessControl } from './access-control.js';
import { rekeyedMethod, tokenRekeyings } from './decisions/rekeying.js';

/** Rekeyed says what was stored under the present key. */
export interface Rekeyed {
  readonly Tokens: number;
  readonly AuthMethods: number;
  /** Tokens and methods that neither of the two keys decrypts. They are left alone. */
  readonly Unreadable: number;
}

export interface RekeyingDeps {
  readonly model: Pick<ReadModel, 'access'>;
  readonly writes: TransactionWriter;
  readonly access: AccessControl;
}

/**
 * Rekeying stores all secrets under the present key that are stored under the other key of this API. It may be run again
 * after a failure, and by several APIs at once: what is stored under the present key is left alone. Cost: all tokens in
 * memory, one decryption for each, and one transaction for each two hundred of them.
 */
export class Rekeying {
  constructor(private readonly deps: RekeyingDeps) {}

  /** @throws what the read model and the log fail with */
  async run(requester: Author): Promise<Rekeyed> {
    const { writes, access: control, model } = this.deps;
    const { access } = model;
    // Each transaction gets an ID of its own: of several with the ID of the request, only the first would count.
    const { requestId: _requestId, ...author } = requester;
    const { rows: tokens } = await access.tokens();
    const { rows: methods } = await access.authMethods();
    const ofTokens = tokenRekeyings(tokens, control.on.secrets);
    for (const decision of ofTokens.decisions) await writes.write(decision, author);
    const ofMethods = await this.methods(methods, author);
    return {
      Tokens: ofTokens.rekeyed,
      AuthMethods: ofMethods.rekeyed,
      Unreadable: ofTokens.unreadable + ofMethods.unreadable,
    };
  }

  private async methods(methods: readonly AuthMethod[], author: Author): Promise<Counted> {
    const { access, writes, model } = this.deps;
    const secrets = access.on.methodSecrets;
    let [rekeyed, unreadable] = [0, 0];
    for (const { Name } of methods) {
      const read = async () => {
        const { row, index } = await model.access.authMethod(Name);
        return { row, sequence: index };
      };
      const { row, decision } = await writes.commit(author, read, (method) => {
        const decided = method && rekeyedMethod(method, secrets);
        return typeof decided === 'object' ? decided : undefined;
      });
      if (decision) rekeyed++;
      else if (row && rekeyedMethod(row, secrets) === 'unreadable') unreadable++;
    }
    return { rekeyed, unreadable };
  }
}

interface Counted {
  readonly rekeyed: number;
  readonly unreadable: number;
}
