import { isUnusedPlugin, volumeWithEndedClaims } from '@waybill/state';
import type { Scan } from './scan.js';

/**
 * Finds volumes with stale claims (GC-63). It does not free the claims, but has the volumes' watcher check them.
 * Volumes that were written recently are being worked on, and are skipped. O(volumes and their claims).
 */
export async function wakeVolumes({ tables, nowNs, thresholds, batches, pace }: Scan): Promise<void> {
  const cutoffNs = nowNs - thresholds.volumeClaimNs;
  for await (const { Namespace, ID, ModifyTime } of pace.through(tables.csi_volumes.all())) {
    if (ModifyTime > cutoffNs) continue;
    const volume = volumeWithEndedClaims(tables, Namespace, ID);
    if (volume && Object.keys(volume.PastClaims).length > 0) await batches.addVolume(volume);
  }
}

/**
 * Collects plugins that no allocation runs and no job requires (GC-70); their volumes do not prevent it. O(plugins).
 */
export async function collectPlugins({ tables, nowNs, thresholds, batches, pace }: Scan): Promise<void> {
  const cutoffNs = nowNs - thresholds.pluginNs;
  for await (const plugin of pace.through(tables.csi_plugins.all()))
    if (plugin.ModifyTime <= cutoffNs && isUnusedPlugin(tables, plugin)) await batches.addPlugin(plugin.ID);
}
