import { Refusal } from '@waybill/model';
import type { TaskAnswerPiece } from '@waybill/rpc';

/**
 * PieceReader takes the next piece of one answer. It resolves when another piece may follow.
 * @throws an error if the answer is no longer read
 */
export type PieceReader = (data: Buffer, ended: boolean) => Promise<void>;

/**
 * TaskAnswers holds the answers to this machine's tasks that still expect pieces, by the ids of their requests.
 *
 * States of an answer: expected → taken piece by piece → forgotten, after its last piece or when the task closes the
 * connection. Limit: one answer per connection of a task's socket. Cost of a piece: one look-up.
 */
export class TaskAnswers {
  private readonly readers = new Map<string, PieceReader>();

  get size(): number {
    return this.readers.size;
  }

  /**
   * Registers a reader. Call it before sending the request, because the second piece may arrive before the answer.
   * @returns a function that removes the reader
   */
  expectAnswer(requestId: string, reader: PieceReader): () => void {
    this.readers.set(requestId, reader);
    return () => void this.readers.delete(requestId);
  }

  /** Delivers a piece to its reader. @throws Refusal not-found if the task has closed the connection */
  async takePiece({ RequestID, Body, Ended }: TaskAnswerPiece): Promise<void> {
    const reader = this.readers.get(RequestID);
    if (!reader) throw new Refusal('not-found', 'the task does not read this answer any more');
    if (Ended) this.readers.delete(RequestID);
    await reader(Buffer.from(Body, 'base64'), Ended);
  }
}
