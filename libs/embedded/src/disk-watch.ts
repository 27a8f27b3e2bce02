import { saysDiskFull } from './explain-failure.js';
import { leastRoom } from './disk-space.js';
import { serverLogSince, serverLogSize } from './server-log.js';

const INTERVAL_MS = 1_000;

export interface DiskWatchSpec {
  readonly dir: string;
  readonly logFile: string;
  /** Where in the log the watched run begins. */
  readonly logOffset: number;
  /** Nothing can be written any more. Called once, with a directory on the disk that is full. */
  readonly onFull: (dir: string) => void;
  /** After `onFull`: there is room again. Called once, the watch's last act. */
  readonly onRoom: () => void;
}

/**
 * Notices that a running server's disk is full and when it no longer is: watching ── full ──► waiting ── room ──► over.
 * Looks at the disk itself and at those mounted below it, since a log on the same disk may be cut short, and at the log,
 * since a disk may be full only for a moment. Each second it costs a system call for each of these disks, and a read of the
 * list of all mounts of the machine.
 */
export class DiskWatch {
  private readonly timer: NodeJS.Timeout;
  private logSeen: number;
  private isFull = false;
  private over = false;

  constructor(private readonly spec: DiskWatchSpec) {
    this.logSeen = spec.logOffset;
    this.timer = setInterval(() => void this.checkFreeSpace(), INTERVAL_MS).unref();
  }

  stop(): void {
    this.over = true;
    clearInterval(this.timer);
  }

  private async checkFreeSpace(): Promise<void> {
    const { space, dir } = await leastRoom(this.spec.dir);
    if (this.over) return;
    if (!this.isFull && (space === 'full' || this.logComplains())) {
      this.isFull = true;
      this.spec.onFull(dir);
    }
    if (!this.isFull || space !== 'enough') return;
    this.stop();
    this.spec.onRoom();
  }

  private logComplains(): boolean {
    const size = serverLogSize(this.spec.logFile);
    if (size === this.logSeen) return false;
    const said = serverLogSince(this.spec.logFile, this.logSeen);
    this.logSeen = size;
    return saysDiskFull(said);
  }
}
