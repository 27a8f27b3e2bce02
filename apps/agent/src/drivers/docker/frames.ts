/** One piece of a container's output, as the engine frames it. */
export interface Frame {
  readonly stream: 'stdout' | 'stderr';
  readonly data: Buffer;
}

const HEADER_BYTES = 8;
const STDERR = 2;

/**
 * Takes the engine's framed output apart: a byte that says which stream, three of nothing, four of length, then so many
 * bytes. Memory: one frame that has not come whole.
 */
export class FrameReader {
  private pending: Buffer = Buffer.alloc(0);

  /** The frames that are complete with this chunk. */
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
