import type { Keyring } from '@waybill/keyring';
import type { RootKey } from '@waybill/model';
import type { ReadModel } from '@waybill/projection';
import type { Author, TransactionWriter } from '@waybill/writing';
import { serverFailure } from '../http/api-error.js';
import type { Rotation } from './decisions/rotation.js';

export interface RootKeyWritesDeps {
  readonly model: { readonly keyring: Pick<ReadModel['keyring'], 'key'> };
  readonly writes: Pick<TransactionWriter, 'write' | 'nowNs'>;
  readonly keyring: Pick<Keyring, 'newRootKey'>;
  readonly newId: () => string;
}

/** RootKeyWrites rotates and deletes root keys for operators (OP-212, OP-213). It has no state. */
export class RootKeyWrites {
  constructor(private readonly deps: RootKeyWritesDeps) {}

  /** Makes the next root key. @throws KeyringError, Refusal, and the errors of writing */
  async rotate(
    { full, publishTime: PublishTime }: Rotation,
    author: Author,
  ): Promise<{ readonly key: RootKey; readonly index: number }> {
    const { keyring, writes, newId, model } = this.deps;
    const Key = await keyring.newRootKey({
      KeyID: newId(),
      State: PublishTime === 0 ? 'active' : 'prepublished',
      CreateTime: writes.nowNs(),
      PublishTime,
    });
    const { index } = await writes.write(
      { type: 'RootKeyUpsert', payload: { Key, Rekey: full, MustExist: false } },
      author,
    );
    const { row } = await model.keyring.key(Key.KeyID);
    if (!row) throw serverFailure('the new root key was deleted meanwhile');
    return { key: row, index };
  }

  /** @param Force deletes a key that is in use. @returns the index of the deletion @throws Refusal, and the errors of writing */
  async remove(KeyID: string, Force: boolean, author: Author): Promise<number> {
    return (await this.deps.writes.write({ type: 'RootKeyDelete', payload: { KeyID, Force } }, author)).index;
  }
}
