import type { Author } from '@waybill/writing';
import type { HolderWriter } from '@waybill/roles';
import type { TxnPayloads, TxnType } from '@waybill/state';

/**
 * Writes the transactions of one request. Only the first carries the request's ID, because the state accepts an ID
 * once.
 */
export class RequestWriter {
  private written = 0;

  constructor(
    private readonly writer: HolderWriter,
    private readonly by: Partial<Author>,
  ) {}

  /**
   * Resolves with the index, when this copy of the state has applied it. @throws Refusal, NotHolderError, and any error
   * of the log
   */
  write<T extends TxnType>(type: T, payload: TxnPayloads[T], namespace: string): Promise<number> {
    const { requestId: _, ...again } = this.by;
    return this.writer.write(type, payload, namespace, this.written++ === 0 ? this.by : again);
  }
}
