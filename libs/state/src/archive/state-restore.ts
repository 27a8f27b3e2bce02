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

/** Payload of a restore of the state that the log makes: a new history begins with it, whatever was written just before. */
export const OWN_STATE = { Archive: '', SHA256: '', Bytes: 0, Index: 0 } as const;

/** Whether a restore takes its state from an archive, which the reader of the log has to add. */
export const namesArchive = ({ Archive }: TxnPayloads['StateRestore']): boolean => Archive !== OWN_STATE.Archive;

/**
 * Type 101: replaces the state by the archive's, in one step (ST-144, OP-46), or keeps it as it is (ST-1). Objects keep
 * their indexes. An archive moves the index of every table, because a table may have had other rows in between, and
 * because the projection that `waybill operator log restore` makes anew cannot know which tables had. Rows that are equal before and after are not written, so that the changes are the difference, and
 * followers of the changes follow the restore. The changes are in an order that does not depend on the order of rows,
 * which differs between copies. O(state), and fast: every copy does it at once, and a holder that takes longer than its
 * lease would start over for ever.
 */
function restoreState(w: Write, restore: TxnPayloads['StateRestore']): void {
  const { Tables: archived, KeepsTableIndexes } = restore;
  const erasedBefore = w.tables.cluster_meta.get(SINGLETON_KEY)?.ErasedBefore;
  if (namesArchive(restore) && !KeepsTableIndexes) w.moveEveryTableIndex();
  if (archived) for (const table of ARCHIVED_TABLES) replaceTable(w, table, archived);
  else if (namesArchive(restore)) throw new Error('a restore was handed over without what its archive holds');
  cancelOrphans(w);
  forgetReleases(w);
  endTerms(w);
  const meta = w.tables.cluster_meta.get(SINGLETON_KEY);
  w.put('cluster_meta', {
    ClusterID: meta?.ClusterID ?? '',
    CreateTime: meta?.CreateTime ?? 0,
    ModifyIndex: w.index,
    RestoredIndex: w.index,
    // It is about this log, and the projector may not have erased it yet.
    ...(erasedBefore !== undefined && { ErasedBefore: erasedBefore }),
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

/**
 * Ends all terms: transactions that a holder decided on the previous state, and writes after the restore, must be void
 * (OP-46, ST-15).
 */
function endTerms(w: Write): void {
  for (const lease of [...w.tables.leases.all()].toSorted((a, b) => compareText(a.Role, b.Role)))
    w.put('leases', { ...lease, Epoch: lease.Epoch + 1, ModifyIndex: w.index });
}

/**
 * Forgets the releases of living claims, because their machines report their real state (VL-309). Volumes are processed
 * in the order of their keys, like all deletions.
 */
function forgetReleases(w: Write): void {
  const rows = w.tables.csi_volumes;
  for (const volume of [...rows.all()].toSorted((a, b) => compareText(rows.keyOf(a), rows.keyOf(b)))) {
    const kept = withoutReleasesOfLive(volume, (id) => w.tables.allocs.get(id));
    if (kept !== volume) w.put('csi_volumes', { ...kept, ModifyIndex: w.index, ModifyTime: w.timeNs });
  }
}

/** Cancels orphaned evaluations, which an archive of an older version may contain (ST-133). */
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
