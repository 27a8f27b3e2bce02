import type { Author } from '@waybill/writing';
import type { HolderWriter } from '@waybill/roles';
import type { TxnPayloads, TxnType } from '@waybill/state';

/** Writes the transactions of one request. Only the first carries the request's id: an id counts once. */
export class RequestWriter {
  private written = 0;

  constructor(
    private readonly writer: HolderWriter,
    private readonly by: Partial<Author>,
  ) {}

  /** Resolves with the index, applied here. @throws Refusal, NotHolderError, what the log fails with */
  write<T extends TxnType>(type: T, payload: TxnPayloads[T], namespace: string): Promise<number> {
    const { requestId: _, ...again } = this.by;
    return this.writer.write(type, payload, namespace, this.written++ === 0 ? this.by : again);
  }
}
