import { saysDiskFull } from './explain-failure.js';
import { leastRoom } from './disk-space.js';
import { serverLogSince, serverLogSize } from './server-log.js';

const INTERVAL_MS = 1_000;

export interface DiskWatchSpec {
  readonly dir: string;
  readonly logFile: string;
  /** The offset in the log at which the watched run begins. */
  readonly logOffset: number;
  /** Is called once with a directory on the full disk, when nothing can be written any more. */
  readonly onFull: (dir: string) => void;
  /** Is called once after `onFull`, when there is room again. The watch then ends. */
  readonly onRoom: () => void;
}

/**
 * DiskWatch notices when a running server's disk is full and when it has room again: watching ── full ──► waiting ──
 * room ──► over. It checks the disk itself and those mounted below it, because a log on the same disk may be cut short.
 * It also checks the log, because a disk may be full only for a moment. Cost per second: a system call for each of
 * these disks, and a read of the list of all mounts of the machine.
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
