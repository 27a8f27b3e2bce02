import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { Clock } from '@waybill/model';
import { causeOf, CommandFailure } from '../failure.js';

/** The file is written at most this often; a crash may repeat what was printed meanwhile, never skip anything. */
const WRITE_EVERY_MS = 1_000;

/**
 * The file in which a run leaves the index it has printed, for the next one to go on behind it (CL-1006).
 * Written whole and renamed, so that whoever reads it finds a number.
 */
export class EventCursor {
  private printed: number | undefined;
  private written: number | undefined;
  private writtenMs = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly file: string,
    private readonly clock: Clock,
  ) {}

  /** What the run before has printed; undefined: there was none. @throws CommandFailure for a file that holds no number */
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

  /** All up to this index has been printed and flushed. @throws CommandFailure */
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
