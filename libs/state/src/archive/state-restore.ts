import { type Deployment, DEPLOYMENT_STOPPED_JOB, isActiveDeployment } from '@waybill/model';
import type { TxnPayloads } from '../log/catalogue.js';
import type { Appliers } from '../machine/applier.js';
import { compareText } from '../machine/row-order.js';
import { withoutReleasesOfLive } from '../volumes/csi-claims.js';
import { ARCHIVED_TABLES, type ArchivedTables } from './state-archive.js';
import { namespacedKey, SINGLETON_KEY, type TableName } from '../machine/tables.js';
import { isSameJson } from '../machine/same-json.js';
import type { Write } from '../machine/write.js';

export const restoreAppliers: Appliers<'StateRestore'> = { StateRestore: restoreState };

/**
 * Type 101: the state becomes what the archive holds, at once (ST-144, OP-46). Objects keep their indexes; what is the
 * same before and after is left alone, so the changes are the difference, and whoever follows them follows the restore.
 * Their order is not that of the rows in this copy, which is another one in each. O(state), and quick: every copy does it
 * at once, and a holder that takes longer than its lease would begin again for ever.
 */
function restoreState(w: Write, { Tables: archived, KeepsReleases, KeepsTerms }: TxnPayloads['StateRestore']): void {
  if (!archived) throw new Error('a restore was handed over without what its archive holds');
  for (const table of ARCHIVED_TABLES) replaceTable(w, table, archived);
  cancelOrphans(w);
  if (!KeepsReleases) forgetReleases(w);
  if (!KeepsTerms) endTerms(w);
  const meta = w.tables.cluster_meta.get(SINGLETON_KEY);
  w.put('cluster_meta', {
    ClusterID: meta?.ClusterID ?? '',
    CreateTime: meta?.CreateTime ?? 0,
    ModifyIndex: w.index,
    RestoredIndex: w.index,
  });
}

function replaceTable<N extends TableName>(w: Write, table: N, archived: ArchivedTables): void {
  const rows = w.tables[table];
  const wanted = archived[table] ?? [];
  const kept = new Set(wanted.map((row) => rows.keyOf(row)));
  const gone = [...rows.entries()].map(([key]) => key).filter((key) => !kept.has(key));
  for (const key of gone.toSorted(compareText)) w.remove(table, key);
  const proven = new WeakMap<object, object>(); // allocations of one job share it
  for (const row of wanted) {
    const before = rows.get(rows.keyOf(row));
    if (!before || !isSameJson(before, row, proven)) w.put(table, row);
  }
}

/** OP-46: what a holder has decided by the state before, and writes behind the restore, must not count (ST-15). */
function endTerms(w: Write): void {
  for (const lease of [...w.tables.leases.all()].toSorted((a, b) => compareText(a.Role, b.Role)))
    w.put('leases', { ...lease, Epoch: lease.Epoch + 1, ModifyIndex: w.index });
}

/** VL-309: their machines say what has become of it. Volumes go in the order of their keys, like all that is removed. */
function forgetReleases(w: Write): void {
  const rows = w.tables.csi_volumes;
  for (const volume of [...rows.all()].toSorted((a, b) => compareText(rows.keyOf(a), rows.keyOf(b)))) {
    const kept = withoutReleasesOfLive(volume, (id) => w.tables.allocs.get(id));
    if (kept !== volume) w.put('csi_volumes', { ...kept, ModifyIndex: w.index, ModifyTime: w.timeNs });
  }
}

/** ST-133: an archive may have been written by a version that left them behind. */
function cancelOrphans(w: Write): void {
  const orphans = [...w.tables.deployment.all()].filter(
    (one) => isActiveDeployment(one) && !w.tables.jobs.has(namespacedKey(one.Namespace, one.JobID)),
  );
  for (const orphan of orphans.toSorted((a, b) => compareText(a.ID, b.ID))) {
    const cancelled: Deployment = {
      ...orphan,
      Status: 'cancelled',
      StatusDescription: DEPLOYMENT_STOPPED_JOB,
      ModifyIndex: w.index,
      ModifyTime: w.timeNs,
    };
    w.put('deployment', cancelled);
  }
}
