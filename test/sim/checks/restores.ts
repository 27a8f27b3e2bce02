import { DEPLOYMENT_STOPPED_JOB, isActiveDeployment } from '@waybill/model';
import {
  type Applied,
  ARCHIVED_TABLES,
  namesArchive,
  namespacedKey,
  SINGLETON_KEY,
  StateMachine,
  type TableName,
  type Txn,
  withoutReleasesOfLive,
} from '@waybill/state';
import type { ReferenceState } from './reference-state.js';
import { sameRows } from './state-equality.js';
import type { Report } from './violation.js';

/** A transaction that has taken the state back. */
export type AppliedRestore = Applied & { readonly txn: Txn<'StateRestore'> };

export const isRestore = (applied: Applied): applied is AppliedRestore =>
  applied.txn.type === 'StateRestore' && applied.verdict.kind === 'accepted';

/** What the present state came from, newest first: nothing of what a restore has taken back. */
export function* presentHistory(log: readonly Applied[]): Generator<Applied> {
  for (let at = log.length; at > 0;) {
    const applied = log[at - 1];
    if (!applied) return;
    yield applied;
    at = isRestore(applied) && namesArchive(applied.txn.payload) ? applied.txn.payload.Index : at - 1;
  }
}

/** Not of the archive: that it was restored is noted in it. */
const NOT_RESTORED: ReadonlySet<TableName> = new Set(['cluster_meta']);

/**
 * A restored state is the one that the log made up to the archive's index, all of it and nothing of a later one (OP-46,
 * OP-258), with the mark of the restore; what was on the way back of claims is forgotten (VL-309), and rollouts of jobs that
 * were not there end (ST-133). Works the log out once more, up to there, at each restore.
 */
export class RestoredStates {
  constructor(
    private readonly reference: ReferenceState,
    private readonly report: Report,
  ) {
    reference.onApplied((applied) => {
      if (isRestore(applied)) this.restored(applied);
    });
  }

  private restored({ index, txn }: AppliedRestore): void {
    const { machine, applied } = this.reference;
    const archived = namesArchive(txn.payload) ? txn.payload.Index : index - 1;
    const then = new StateMachine();
    for (const earlier of applied.slice(0, archived)) then.apply(earlier.txn);
    const { allocs, csi_volumes } = then.tables;
    for (const [key, volume] of csi_volumes.entries()) {
      const kept = withoutReleasesOfLive(volume, (id) => allocs.get(id));
      if (kept !== volume) csi_volumes.replace(key, { ...kept, ModifyIndex: index, ModifyTime: txn.timeNs });
    }
    for (const [key, rollout] of then.tables.deployment.entries()) {
      if (!isActiveDeployment(rollout) || then.tables.jobs.has(namespacedKey(rollout.Namespace, rollout.JobID)))
        continue;
      const ended = { Status: 'cancelled', StatusDescription: DEPLOYMENT_STOPPED_JOB } as const;
      then.tables.deployment.replace(key, { ...rollout, ...ended, ModifyIndex: index, ModifyTime: txn.timeNs });
    }
    const different = ARCHIVED_TABLES.find(
      (name) => !NOT_RESTORED.has(name) && !sameRows(then.tables[name], machine.tables[name]),
    );
    const mark = machine.tables.cluster_meta.get(SINGLETON_KEY)?.RestoredIndex;
    const wrong = mark === index ? different : 'cluster_meta';
    if (wrong)
      this.report('restored-state', `${wrong} after the restore at index ${index} is not that of index ${archived}`);
  }
}
