import { Refusal } from '@waybill/model';
import type { TaskAnswerPiece } from '@waybill/rpc';

/** Takes the next piece of one answer; resolves when it may be followed by another. @throws anything: nobody reads it any more */
export type PieceReader = (data: Buffer, ended: boolean) => Promise<void>;

/**
 * Answers to tasks of this machine of which further pieces are to come, by the names of their requests.
 *
 * An answer is expected → taken piece by piece → forgotten, with its last piece or when the task hangs up. Limits: one for
 * each connection of a task's socket. Cost of a piece: a look-up.
 */
export class TaskAnswers {
  private readonly readers = new Map<string, PieceReader>();

  get size(): number {
    return this.readers.size;
  }

  /** Before the request is sent: the second piece may come before its answer. Returns the way to stop. */
  expect(requestId: string, reader: PieceReader): () => void {
    this.readers.set(requestId, reader);
    return () => void this.readers.delete(requestId);
  }

  /** @throws Refusal not-found: the task has hung up */
  async takePiece({ RequestID, Body, Ended }: TaskAnswerPiece): Promise<void> {
    const reader = this.readers.get(RequestID);
    if (!reader) throw new Refusal('not-found', 'the task does not read this answer any more');
    if (Ended) this.readers.delete(RequestID);
    await reader(Buffer.from(Body, 'base64'), Ended);
  }
}
