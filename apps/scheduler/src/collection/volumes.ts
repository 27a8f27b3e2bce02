import { isUnusedPlugin, volumeWithEndedClaims } from '@waybill/state';
import type { Scan } from './scan.js';

/**
 * The volumes that have claims nobody holds any more (GC-63): they are not freed here, whoever frees them is told to
 * look. One that is being worked on was written lately, and is left alone. O(volumes and their claims).
 */
export async function wakeVolumes({ tables, nowNs, thresholds, batches, pace }: Scan): Promise<void> {
  const cutoffNs = nowNs - thresholds.volumeClaimNs;
  for await (const { Namespace, ID, ModifyTime } of pace.through(tables.csi_volumes.all())) {
    if (ModifyTime > cutoffNs) continue;
    const volume = volumeWithEndedClaims(tables, Namespace, ID);
    if (volume && Object.keys(volume.PastClaims).length > 0) await batches.volume(volume);
  }
}

/** Plugins that nobody runs and nobody is to run (GC-70); volumes that are on them keep none. O(plugins). */
export async function collectPlugins({ tables, nowNs, thresholds, batches, pace }: Scan): Promise<void> {
  const cutoffNs = nowNs - thresholds.pluginNs;
  for await (const plugin of pace.through(tables.csi_plugins.all()))
    if (plugin.ModifyTime <= cutoffNs && isUnusedPlugin(tables, plugin)) await batches.plugin(plugin.ID);
}
