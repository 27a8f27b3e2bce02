/** Frame is one piece of a container's output, as the engine frames it. */
export interface Frame {
  readonly stream: 'stdout' | 'stderr';
  readonly data: Buffer;
}

const HEADER_BYTES = 8;
const STDERR = 2;

/**
 * FrameReader parses the engine's framed output: one byte for the stream, three empty bytes, four bytes for the length,
 * then the data. Memory: one incomplete frame.
 */
export class FrameReader {
  private pending: Buffer = Buffer.alloc(0);

  /** Returns the frames that this chunk completes. */
  push(chunk: Buffer): Frame[] {
    this.pending = this.pending.length === 0 ? chunk : Buffer.concat([this.pending, chunk]);
    const frames: Frame[] = [];
    for (;;) {
      if (this.pending.length < HEADER_BYTES) return frames;
      const end = HEADER_BYTES + this.pending.readUInt32BE(4);
      if (this.pending.length < end) return frames;
      const stream = this.pending[0] === STDERR ? 'stderr' : 'stdout';
      frames.push({ stream, data: this.pending.subarray(HEADER_BYTES, end) });
      this.pending = this.pending.subarray(end);
    }
  }
}
