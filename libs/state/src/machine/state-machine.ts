import { Refusal } from '@waybill/model';
import type { TxnPayloads, TxnType } from '../log/catalogue.js';
import type { Applier, Appliers } from './applier.js';
import { accessAppliers } from '../access/access.js';
import { allocationAppliers } from '../allocations/allocations.js';
import { clusterAppliers } from '../cluster/cluster.js';
import { csiVolumeAppliers } from '../volumes/csi-volumes.js';
import { deploymentAppliers } from '../deployments/deployments.js';
import { evaluationAppliers } from '../evaluations/evaluations.js';
import { historyAppliers } from '../history/history-redact.js';
import { hostVolumeAppliers, settleHostVolumes } from '../volumes/host-volumes.js';
import { jobAppliers } from '../jobs/jobs.js';
import { namespaceAppliers } from '../cluster/namespaces.js';
import { nodePoolAppliers } from '../nodes/node-pools.js';
import { nodeAppliers } from '../nodes/nodes.js';
import { planAppliers } from '../allocations/plans.js';
import { rootKeyAppliers } from '../keyring/root-keys.js';
import { settlePlugins } from '../volumes/plugin-catalogue.js';
import { serviceAppliers } from '../allocations/service-registrations.js';
import { variableAppliers } from '../variables/variables.js';
import { restoreAppliers } from '../archive/state-restore.js';
import type { LogMark } from '../log/log-mark.js';
import { RequestWindow, STALE_EPOCH } from '../log/request-window.js';
import { createTables, type Tables } from './tables.js';
import { type Txn, type Verdict, type Rejection, isRejected } from '../log/txn.js';
import { UnknownSchemaVersionError, upcast } from '../log/upcast.js';
import { Write, type Change } from './write.js';

/** Every type of the catalogue has exactly one applier; a missing one does not compile. */
const appliers: Appliers = {
  ...nodeAppliers,
  ...nodePoolAppliers,
  ...jobAppliers,
  ...evaluationAppliers,
  ...allocationAppliers,
  ...planAppliers,
  ...deploymentAppliers,
  ...namespaceAppliers,
  ...serviceAppliers,
  ...csiVolumeAppliers,
  ...hostVolumeAppliers,
  ...clusterAppliers,
  ...accessAppliers,
  ...rootKeyAppliers,
  ...variableAppliers,
  ...restoreAppliers,
  ...historyAppliers,
};

/** The outcome of applying one transaction. */
export interface Applied {
  readonly txn: Txn;
  readonly index: number;
  readonly verdict: Verdict;
  /** Rows changed, in the order of the last write to each. */
  readonly changes: readonly Change[];
  /** The transaction moved the index of every table. Absent: only of the tables with a change (ST-27). */
  readonly movesEveryTableIndex?: true;
  /**
   * Set if the verdict is `NOT_APPLICABLE`: the error of the applier. The process that applied the transaction logs it.
   */
  readonly defect?: Error;
}

/**
 * Verdict of a transaction whose application failed by a defect. A constant, because the text of an exception differs
 * between versions of the runtime, and the verdict is part of the state.
 */
export const NOT_APPLICABLE =
  'the transaction could not be applied: a defect of Waybill, described in the logs of its servers; nothing was changed';

/** The log skipped an index: applying out of order would make replicas differ (ST-7). */
export class IndexGapError extends Error {
  override readonly name = 'IndexGapError';
  constructor(
    readonly expected: number,
    readonly got: number,
  ) {
    super(`transaction ${got} cannot be applied: the next index is ${expected}`);
  }
}

/**
 * The deterministic function state × transaction → state, in every service that needs state (ST-3): without clock,
 * randomness, configuration and I/O. The same log gives the same tables, byte for byte.
 *
 * Modes: empty (index 0), or loaded at an index from a snapshot (`startAt`); then `apply` in the order of the log.
 * If an applier throws anything but `Refusal`, it is a defect. It is as deterministic as everything else here, so every
 * copy reverts the transaction and refuses it with `NOT_APPLICABLE`: one transaction must not stop all copies for good.
 * Only an unknown schema version is passed to the caller, which must stop: a newer version applies it (ST-8).
 * Memory: all rows of the cluster. Cost of `apply`: O(what the transaction touches).
 */
export class StateMachine {
  readonly tables: Tables = createTables();
  /** Request ids of the de-duplication window (ST-6). */
  readonly requests = new RequestWindow();
  private applied = 0;

  /** Index of the last transaction applied. */
  get appliedIndex(): number {
    return this.applied;
  }

  /** Identifies the last applied transaction in the log (ST-1); undefined: there is none, or it has no request ID. */
  get mark(): LogMark | undefined {
    const newest = this.requests.newestEntry;
    if (newest?.index !== this.applied) return undefined;
    return { index: newest.index, requestId: newest.requestId, timeNs: newest.timeNs };
  }

  /** Sets the index after the tables were loaded from a snapshot. */
  startAt(index: number): void {
    this.applied = index;
  }

  /** Epoch of a role, 0 if it was never held. */
  epochOf(role: string): number {
    return this.tables.leases.get(role)?.Epoch ?? 0;
  }

  apply(txn: Txn): Applied {
    if (txn.index !== this.applied + 1) throw new IndexGapError(this.applied + 1, txn.index);
    const w = new Write(this.tables, txn.index, txn.timeNs);
    const outcome = this.requests.verdictFor(txn) ?? this.voidByEpoch(txn) ?? this.runApplier(w, txn);
    const defect = outcome instanceof Error ? outcome : undefined;
    const withoutEffect = outcome instanceof Error ? DEFECTIVE : outcome;
    const changes = w.commit();
    const verdict = withoutEffect ?? w.verdict(changes);
    this.requests.remember({
      requestId: txn.requestId,
      index: txn.index,
      timeNs: txn.timeNs,
      rejected: isRejected(verdict) ? verdict : null,
    });
    this.applied = txn.index;
    return {
      txn,
      index: txn.index,
      verdict,
      changes,
      ...(w.movesEveryTableIndex && { movesEveryTableIndex: true }),
      ...(defect && { defect }),
    };
  }

  private voidByEpoch(txn: Txn): Rejection | undefined {
    if (!txn.fence || txn.fence.epoch === this.epochOf(txn.fence.role)) return undefined;
    return { kind: 'void', error: STALE_EPOCH };
  }

  /** Applies the transaction. @returns the verdict if it is rejected, the error if it is a defect */
  private runApplier(w: Write, txn: Txn): Rejection | Error | undefined {
    try {
      applyTyped(w, txn);
      settlePlugins(w);
      settleHostVolumes(w);
      return undefined;
    } catch (error) {
      w.rollback();
      if (error instanceof Refusal) return { kind: 'refused', code: error.code, error: error.message };
      if (error instanceof UnknownSchemaVersionError) throw error;
      return error instanceof Error ? error : new Error(String(error));
    }
  }
}

const DEFECTIVE: Rejection = Object.freeze({ kind: 'refused', code: 'internal', error: NOT_APPLICABLE });

function applyTyped<T extends TxnType>(w: Write, txn: Txn<T>): void {
  const apply: Applier<T> = appliers[txn.type];
  apply(w, upcast(txn) as TxnPayloads[T], txn);
}
