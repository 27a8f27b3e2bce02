import { ALL_NODES_POOL, DEFAULT_NAMESPACE, type SchedulerConfiguration, Refusal } from '@waybill/model';
import type { TxnPayloads } from '../log/catalogue.js';
import { createNamespace } from './namespaces.js';
import { createNodePool } from '../nodes/node-pools.js';
import type { Appliers } from '../machine/applier.js';
import { SINGLETON_KEY } from '../machine/tables.js';
import type { Write } from '../machine/write.js';

export const clusterAppliers: Appliers<
  'SchedulerConfig' | 'ClusterMetadata' | 'LeaseAcquired' | 'Initialise' | 'Ignore'
> = {
  SchedulerConfig: setSchedulerConfig,
  ClusterMetadata: setClusterMetadata,
  LeaseAcquired: acquireLease,
  Initialise: initialise,
  Ignore: () => undefined,
};

/**
 * Type 30: sets the scheduler configuration. The verdict's result is false if the check-and-set failed (OP-14 to
 * OP-16).
 */
function setSchedulerConfig(w: Write, { Config, CAS, ModifyIndex }: TxnPayloads['SchedulerConfig']): void {
  const stored = w.tables.scheduler_config.get(SINGLETON_KEY);
  w.result = !CAS || stored?.ModifyIndex === ModifyIndex;
  if (!w.result) return;
  const row: SchedulerConfiguration = {
    ...Config,
    CreateIndex: stored?.CreateIndex ?? w.index,
    ModifyIndex: w.index,
  };
  w.put('scheduler_config', row);
}

/** Type 32: sets the cluster's metadata; the first ID stays. */
function setClusterMetadata(w: Write, { ClusterID, CreateTime }: TxnPayloads['ClusterMetadata']): void {
  const stored = w.tables.cluster_meta.get(SINGLETON_KEY);
  if (stored?.ClusterID === ClusterID) return;
  if (stored)
    throw new Refusal('conflict', `refusing to set new cluster id, previous: ${stored.ClusterID}, new: ${ClusterID}`);
  w.put('cluster_meta', { ClusterID, CreateTime, ModifyIndex: w.index });
}

/** Type 100: begins a term. The epochs of a role follow each other without a gap (ST-15). */
function acquireLease(w: Write, { Role, Epoch, Holder }: TxnPayloads['LeaseAcquired']): void {
  const stored = w.tables.leases.get(Role);
  const next = (stored?.Epoch ?? 0) + 1;
  if (Epoch !== next) throw new Refusal('conflict', `epoch ${Epoch} of role ${Role} refused: the next one is ${next}`);
  w.put('leases', { Role, Epoch, Holder, ModifyIndex: w.index });
}

/** Type 127: initialises the log (ST-2). It changes nothing in an initialised state. */
function initialise(w: Write): void {
  if (w.tables.namespaces.has(DEFAULT_NAMESPACE)) return;
  createNamespace(w, DEFAULT_NAMESPACE, 'Default shared namespace');
  createNodePool(w, ALL_NODES_POOL, 'Node pool with all nodes in the cluster.');
  createNodePool(w, 'default', 'Default node pool.');
}
