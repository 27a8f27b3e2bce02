/**
 * Mark is a known position in the engine's log: the pieces from the time `since` on follow, and the counts are the bytes
 * of each stream before them.
 */
export interface Mark {
  readonly since: string;
  readonly stdout: number;
  readonly stderr: number;
}

/** The position before the first piece. */
export const BEGIN: Mark = { since: '', stdout: 0, stderr: 0 };

/**
 * The longest time in milliseconds by which the engine writes a piece later than a piece with a later time. It takes the
 * time of a piece before it waits for its turn to write.
 */
const DISORDER_MS = 1_000;

interface Candidate extends Mark {
  readonly key: string;
  readonly ms: number;
}

/**
 * MarkFinder finds positions in an engine's log to which a later reader can return by their time (AG-242).
 *
 * The engine copies both streams at the same time, so times in its log are not ascending. A read "from this time on"
 * begins with the first piece that is not older (newer engines), or leaves out each older piece (older engines).
 * Both begin at the same byte only at a piece that is later than all pieces before it and not later than any piece
 * after it. So a piece that is later than all before it becomes a candidate; an older piece behind it drops the
 * candidate; DISORDER_MS later the candidate becomes the mark. The parts of a long line have one time, and only the
 * first part can be a candidate. If the clock of the machine goes back behind the mark, the mark is void.
 */
export class MarkFinder {
  private latest: string;
  private candidate: Candidate | undefined;

  constructor(private found: Mark) {
    this.latest = sortable(found.since);
  }

  get mark(): Mark {
    return this.found;
  }

  /** Takes the next piece of the log. @param before the bytes of each stream before the piece */
  take(time: string, before: { readonly stdout: number; readonly stderr: number }): void {
    const key = sortable(time);
    if (this.candidate && key < this.candidate.key) this.candidate = undefined;
    if (key < sortable(this.found.since)) this.found = BEGIN;
    if (key <= this.latest) return;
    this.latest = key;
    const ms = Date.parse(time);
    if (this.candidate && ms - this.candidate.ms >= DISORDER_MS) {
      const { since, stdout, stderr } = this.candidate;
      this.found = { since, stdout, stderr };
      this.candidate = undefined;
    }
    this.candidate ??= { since: time, stdout: before.stdout, stderr: before.stderr, key, ms };
  }
}

const FULL_LENGTH = '2026-01-02T03:04:05.000000007Z'.length;

/** Returns a text that sorts as the time does. Engines may leave out the last digits of a second. */
function sortable(time: string): string {
  if (time.length === FULL_LENGTH || time === '') return time;
  const [whole = '', fraction = ''] = time.slice(0, -1).split('.');
  return `${whole}.${fraction.padEnd(9, '0')}Z`;
}
