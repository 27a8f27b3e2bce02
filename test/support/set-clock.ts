import { existsSync, renameSync, writeFileSync } from 'node:fs';

const LIBRARIES = ['x86_64-linux-gnu', 'aarch64-linux-gnu'].map(
  (machine) => `/usr/lib/${machine}/faketime/libfaketimeMT.so.1`,
);
const LIBRARY = LIBRARIES.find((file) => existsSync(file));

/** Whether clocks of single processes can be set here (Debian's package libfaketime). */
export const canSetClocks = LIBRARY !== undefined;

/**
 * The wall clock of the processes that are started with `env`, to be set while they run. Their monotonic clocks and their
 * timers stay true. A process notices within a second.
 */
export class SettableClock {
  constructor(private readonly file: string) {
    this.right();
  }

  /** For the environment of a process. */
  get env(): NodeJS.ProcessEnv {
    if (LIBRARY === undefined) throw new Error('clocks cannot be set here: install libfaketime');
    return {
      LD_PRELOAD: LIBRARY,
      FAKETIME_TIMESTAMP_FILE: this.file,
      FAKETIME_CACHE_DURATION: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      NO_FAKE_STAT: '1',
    };
  }

  /** @param gain 0.05: it gains 3 s a minute from now on */
  set(aheadSeconds: number, gain = 0): void {
    const sign = aheadSeconds < 0 ? '-' : '+';
    const pace = gain === 0 ? '' : ` x${(1 + gain).toFixed(3)}`;
    // At once, for a reader that comes in between.
    writeFileSync(`${this.file}.new`, `${sign}${Math.abs(aheadSeconds)}s${pace}`);
    renameSync(`${this.file}.new`, this.file);
  }

  right(): void {
    this.set(0);
  }
}
