import { execFile } from 'node:child_process';
import { mkdir, rename, rm } from 'node:fs/promises';
import { promisify } from 'node:util';
import { below, pathName } from '../../paths/path-name.js';

const run = promisify(execFile);

/** Made together: a program is started for them, which costs as much as the start of a task. */
const BATCH = 64;
/** With fewer left, the next ones are made before they are asked for. */
const FEW = 16;

/**
 * FIFOs made ahead, so that no task waits for a program that makes its own. Lives in a directory of its own below that of
 * the collector, on the same file system: taking one is a rename. At most one batch is being made at a time.
 */
export class SpareFifos {
  private readonly dir: string;
  private spare: string[] = [];
  private making: Promise<void> | undefined;
  private made = 0;

  constructor(collectorDir: string) {
    this.dir = below(collectorDir, 'spare');
  }

  /** Forgets those of an earlier agent, and begins with its own. */
  async start(): Promise<void> {
    await rm(this.dir, { recursive: true, force: true });
    await mkdir(this.dir, { recursive: true });
    this.refillAhead();
  }

  /** Puts one there, for the agent's user only. @throws when none can be made */
  async placeFifo(file: string): Promise<void> {
    for (;;) {
      const spare = this.spare.pop();
      if (this.spare.length < FEW) this.refillAhead();
      if (spare !== undefined) return rename(spare, file);
      await this.refill();
    }
  }

  /** Whoever finds none tries again, and hears of what went wrong. */
  private refillAhead(): void {
    this.refill().catch(() => {});
  }

  private refill(): Promise<void> {
    this.making ??= this.make().finally(() => {
      this.making = undefined;
    });
    return this.making;
  }

  private async make(): Promise<void> {
    const batch = Array.from({ length: BATCH }, () => below(this.dir, pathName(String(this.made++))));
    await run('mkfifo', ['-m', '600', ...batch]);
    for (const item of batch) this.spare.push(item);
  }
}
