import { cpSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import type { RunningServer } from '@waybill/embedded';
import { freeze, thaw } from './freeze.js';

/** The stores of a nats-server, as they were on its disk at some moment. */
export class SyncedCopy {
  private constructor(
    private readonly nats: RunningServer,
    private readonly storeDir: string,
    private readonly copyDir: string,
    /** When the server stood still for it, milliseconds of `performance.now`: what was acknowledged before is in it. */
    readonly atMs: number,
  ) {}

  /** @param dir the directory that the server was started in */
  static async take(nats: RunningServer, dir: string): Promise<SyncedCopy> {
    const storeDir = path.join(dir, 'streams');
    const copyDir = path.join(dir, 'synced');
    rmSync(copyDir, { recursive: true, force: true });
    await freeze(nats.pid);
    const atMs = performance.now();
    try {
      cpSync(storeDir, copyDir, { recursive: true });
    } finally {
      thaw(nats.pid);
    }
    return new SyncedCopy(nats, storeDir, copyDir, atMs);
  }

  /** The power goes, and comes back: the server finds what was on its disk then. Whoever started it starts it again. */
  async cutPower(): Promise<void> {
    const { pid } = this.nats;
    await freeze(pid);
    rmSync(this.storeDir, { recursive: true });
    renameSync(this.copyDir, this.storeDir);
    process.kill(pid, 'SIGKILL');
  }
}
