import type { Call } from '../command-spec.js';
import { formatBytes } from '../terminal/sizes.js';
import { table } from '../terminal/table.js';
import { absoluteTime } from '../terminal/times.js';

/** A volume snapshot in a response of the API. */
export interface SnapshotAnswer {
  readonly ID: string;
  readonly ExternalSourceVolumeID: string;
  readonly SizeBytes: number;
  /** In unix seconds. */
  readonly CreateTime: number;
  readonly IsReady: boolean;
}

const VOLUME_WIDTH = 12;
const VERBOSE_VOLUME_WIDTH = 30;
const NS_PER_SECOND = 1e9;

/** Lists snapshots. Volume IDs are cut (CL-712). */
export function snapshotTable(snapshots: readonly SnapshotAnswer[], { flags }: Pick<Call, 'flags'>): string {
  const width = flags.on('verbose') ? VERBOSE_VOLUME_WIDTH : VOLUME_WIDTH;
  return table([
    ['Snapshot ID', 'Volume ID', 'Size', 'Create Time', 'Ready?'],
    ...snapshots.map((one) => [
      one.ID,
      one.ExternalSourceVolumeID.slice(0, width),
      formatBytes(one.SizeBytes),
      absoluteTime(one.CreateTime * NS_PER_SECOND),
      String(one.IsReady),
    ]),
  ]);
}
