import { Gate } from '../../waiting/gate.js';
import type { ExecOutput } from './exec-session.js';

/** Of output that nobody has read yet; then whoever writes waits. */
export const MAX_QUEUED_OUTPUT_BYTES = 256 * 1024;

/** Holds output between those that write it and the one that reads it. open → ended. Memory: MAX_QUEUED_OUTPUT_BYTES and one chunk. */
export class OutputQueue {
  private readonly chunks: ExecOutput[] = [];
  private bytes = 0;
  private isEnded = false;
  private moved = new Gate();

  /** Resolves when there is room for more. */
  async push(chunk: ExecOutput): Promise<void> {
    if (this.isEnded) return;
    this.chunks.push(chunk);
    this.bytes += chunk.data.byteLength;
    this.move();
    while (this.bytes > MAX_QUEUED_OUTPUT_BYTES && !this.isEnded) await this.moved.opened;
  }

  /** What is there may still be read. */
  end(): void {
    this.isEnded = true;
    this.move();
  }

  async takeOutput(): Promise<ExecOutput | null> {
    while (this.chunks.length === 0 && !this.isEnded) await this.moved.opened;
    const chunk = this.chunks.shift() ?? null;
    if (chunk) {
      this.bytes -= chunk.data.byteLength;
      this.move();
    }
    return chunk;
  }

  private move(): void {
    const { moved } = this;
    this.moved = new Gate();
    moved.open();
  }
}
