import { MAX_REAPED_ROOT_KEYS } from '@waybill/rpc';
import { collectableRootKeys } from '@waybill/state';
import type { Scan } from './scan.js';

/**
 * Collects root keys that are old, inactive and not in use (GC-80, GC-81, GC-85). It makes no key active and makes no new
 * one: the holder of the role broker does, at intervals. O(keys), and O(nodes + allocations) for each old key.
 */
export async function collectRootKeys({ tables, nowNs, thresholds, batches }: Scan): Promise<void> {
  const keyIds = collectableRootKeys(tables, nowNs - thresholds.rootKeyNs);
  await batches.addRootKeys(keyIds.slice(0, MAX_REAPED_ROOT_KEYS));
}
