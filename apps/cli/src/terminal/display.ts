import type { Call } from '../command-spec.js';
import { isUuid, shortId } from './short-id.js';
import { absoluteTime, type ApiTime, relativeTime } from './times.js';

/** The format of IDs and times: short and relative, or in full (`-verbose`). */
export class Display {
  constructor(
    readonly verbose: boolean,
    readonly nowMs: number,
  ) {}

  static of({ flags, clock }: Call): Display {
    return new Display(flags.has('verbose') && flags.on('verbose'), clock.nowMs());
  }

  id(id: string | undefined): string {
    return shortId(id, this.verbose);
  }

  /** Shortens an ID and leaves a name unchanged. */
  idOrName(text: string): string {
    return isUuid(text) ? this.id(text) : text;
  }

  time(time: ApiTime): string {
    return this.verbose ? absoluteTime(time) : relativeTime(time, this.nowMs);
  }
}

export const VERBOSE_FLAG = { name: 'verbose', kind: 'switch', help: 'Show full IDs and more details.' } as const;
export const DETACH_FLAG = {
  name: 'detach',
  kind: 'switch',
  help: 'Return at once instead of watching the evaluation.',
} as const;
