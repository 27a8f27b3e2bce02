import type { StoredPart } from './event-frame.js';
import type { EventStorage } from './event-window.js';

/** A stream in memory. Message n is the whole frame of index n, with one event about the job `jobOf(n)`. */
export class MemoryEvents implements EventStorage {
  first = 1;
  last = 0;
  reads = 0;
  down = false;
  jobOf = (index: number): string => `job-${index}`;

  async bounds(): Promise<{ first: number; last: number }> {
    if (this.down) throw new Error('the stream does not answer');
    return { first: this.first, last: this.last };
  }

  async readParts(sequence: number, messages: number): Promise<StoredPart[]> {
    this.reads++;
    if (this.down) throw new Error('the stream does not answer');
    const from = Math.max(sequence, this.first);
    const count = Math.max(0, Math.min(messages, this.last - from + 1));
    return Array.from({ length: count }, (_, n) => this.partOf(from + n));
  }

  private partOf(index: number): StoredPart {
    return {
      sequence: index,
      index,
      timeNs: index,
      part: 1,
      parts: 1,
      about: JSON.stringify([['Job', 'default', this.jobOf(index)]]),
      data: Buffer.from(JSON.stringify({ Index: index })),
    };
  }
}
