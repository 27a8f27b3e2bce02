import { Gate } from '../../waiting/gate.js';
import type { ExecOutput } from './exec-session.js';

/** The largest amount of unread output in bytes. Above it, writers wait. */
export const MAX_QUEUED_OUTPUT_BYTES = 256 * 1024;

/**
 * OutputQueue holds output between its writers and its one reader. States: open → ended. Memory:
 * MAX_QUEUED_OUTPUT_BYTES and one chunk.
 */
export class OutputQueue {
  private readonly chunks: ExecOutput[] = [];
  private bytes = 0;
  private isEnded = false;
  private moved = new Gate();

  /** Adds output. Resolves when there is room for more. */
  async push(chunk: ExecOutput): Promise<void> {
    if (this.isEnded) return;
    this.chunks.push(chunk);
    this.bytes += chunk.data.byteLength;
    this.wakeWaiters();
    while (this.bytes > MAX_QUEUED_OUTPUT_BYTES && !this.isEnded) await this.moved.opened;
  }

  /** Ends the queue. The reader may still take the queued output. */
  end(): void {
    this.isEnded = true;
    this.wakeWaiters();
  }

  async takeOutput(): Promise<ExecOutput | null> {
    while (this.chunks.length === 0 && !this.isEnded) await this.moved.opened;
    const chunk = this.chunks.shift() ?? null;
    if (chunk) {
      this.bytes -= chunk.data.byteLength;
      this.wakeWaiters();
    }
    return chunk;
  }

  private wakeWaiters(): void {
    const { moved } = this;
    this.moved = new Gate();
    moved.open();
  }
}
