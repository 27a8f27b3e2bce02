import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { Clock } from '@waybill/model';
import { causeOf, CommandFailure } from '../failure.js';

/**
 * Shortest time between two writes of the file. After a crash, lines printed meanwhile may be repeated, but none is
 * skipped.
 */
const WRITE_EVERY_MS = 1_000;

/**
 * The file that stores the last printed index, so that the next run continues after it (CL-1006). It is written whole
 * and renamed, so its readers always find a number.
 */
export class EventCursor {
  private printed: number | undefined;
  private written: number | undefined;
  private writtenMs = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly file: string,
    private readonly clock: Clock,
  ) {}

  /**
   * Returns the last index of the previous run, or undefined if there was none. @throws CommandFailure if the file
   * contains no number
   */
  readIndex(): number | undefined {
    let text: string;
    try {
      text = readFileSync(this.file, 'utf8').trim();
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
      throw new CommandFailure(`Error reading cursor file: ${causeOf(error)}`);
    }
    if (!/^\d{1,15}$/.test(text)) throw new CommandFailure(`Error reading cursor file: "${this.file}" holds no index`);
    return Number(text);
  }

  /** Records that all lines up to this index were printed and flushed. @throws CommandFailure */
  reached(index: number): void {
    this.printed = index;
    if (this.clock.nowMs() - this.writtenMs >= WRITE_EVERY_MS) this.write();
  }

  /** @throws CommandFailure */
  write(): void {
    if (this.printed === undefined || this.printed === this.written) return;
    const fresh = `${this.file}.new`;
    try {
      writeFileSync(fresh, `${this.printed}\n`);
      renameSync(fresh, this.file);
    } catch (error) {
      throw new CommandFailure(`Error writing cursor file: ${causeOf(error)}`);
    }
    this.written = this.printed;
    this.writtenMs = this.clock.nowMs();
  }
}
