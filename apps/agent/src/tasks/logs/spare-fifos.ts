import { execFile } from 'node:child_process';
import { mkdir, rename, rm } from 'node:fs/promises';
import { promisify } from 'node:util';
import { below, pathName } from '../../paths/path-name.js';

const run = promisify(execFile);

/** The number of FIFOs that are made together. They need a program, whose start costs as much as that of a task. */
const BATCH = 64;
/** If fewer are left, the next ones are made in advance. */
const FEW = 16;

/**
 * SpareFifos makes FIFOs in advance, so that no task waits for the program that makes its own. They are in a directory
 * below that of the collector, on the same file system, so taking one is a rename. At most one batch is made at a time.
 */
export class SpareFifos {
  private readonly dir: string;
  private spare: string[] = [];
  private making: Promise<void> | undefined;
  private made = 0;

  constructor(collectorDir: string) {
    this.dir = below(collectorDir, 'spare');
  }

  /** Removes the FIFOs of an earlier agent, and begins to make its own. */
  async start(): Promise<void> {
    await rm(this.dir, { recursive: true, force: true });
    await mkdir(this.dir, { recursive: true });
    this.refillAhead();
  }

  /** Places a FIFO at a path, for the agent's user only. @throws an error if none can be made */
  async placeFifo(file: string): Promise<void> {
    for (;;) {
      const spare = this.spare.pop();
      if (this.spare.length < FEW) this.refillAhead();
      if (spare !== undefined) return rename(spare, file);
      await this.refillFifos();
    }
  }

  /** Refills without waiting. A caller that finds no FIFO tries again and gets the error. */
  private refillAhead(): void {
    this.refillFifos().catch(() => {});
  }

  private refillFifos(): Promise<void> {
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
