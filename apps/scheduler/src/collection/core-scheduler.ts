import { coreDataOf, coreTaskOf, nsFromMs, type Clock, type Evaluation } from '@waybill/model';
import type { Reap } from '@waybill/rpc';
import type { Tables } from '@waybill/state';
import { collectDeployments } from './deployments.js';
import { collectEvaluations } from './evaluations.js';
import { collectJobs } from './jobs.js';
import { collectNodes } from './nodes.js';
import { ReapBatches, type BatchLimits } from './reap-batches.js';
import { ScanPace, type Scan } from './scan.js';
import { FORCED_THRESHOLDS, type Thresholds } from './thresholds.js';
import { collectRootKeys } from './root-keys.js';
import { collectOneTimeTokens, collectTokens } from './tokens.js';
import { collectPlugins, wakeVolumes } from './volumes.js';

/** There is no housekeeping of this name (EB-150); the evaluation is nacked. */
export class UnknownCoreTaskError extends Error {
  override readonly name = 'UnknownCoreTaskError';
  constructor(readonly jobId: string) {
    super(`core scheduler cannot handle job '${jobId}'`);
  }
}

/** Parts of a forced collection failed; what the other parts found was deleted all the same (GC-90). */
export class IncompleteCollectionError extends AggregateError {
  override readonly name = 'IncompleteCollectionError';
  constructor(failures: readonly unknown[]) {
    super(failures, `${failures.length} of the kinds of records could not be collected`);
  }
}

export interface CoreSchedulerDeps {
  readonly tables: Tables;
  /** Index of the state that is scanned. */
  readonly appliedIndex: number;
  readonly clock: Clock;
  readonly thresholds: Thresholds;
  /**
   * Deletes a batch; resolves when the rows are gone from `tables` too. @param scanIndex index of the state that was
   * scanned
   */
  readonly reap: (reap: Reap, scanIndex: number) => Promise<void>;
  /** Yields the thread to other work. */
  readonly rest: () => Promise<void>;
  readonly limits?: BatchLimits;
}

type Collect = (scan: Scan) => Promise<void>;

/** The order of a forced collection: jobs do not wait for their evaluations, and nodes come last (GC-87). */
const EVERYTHING: readonly Collect[] = [
  collectJobs,
  collectEvaluations,
  collectDeployments,
  collectPlugins,
  wakeVolumes,
  collectTokens('local'),
  collectTokens('global'),
  collectOneTimeTokens,
  collectRootKeys,
  collectNodes,
];

/**
 * Does the housekeeping of a core evaluation. The evaluation has no row, so its ack is all that ends it (EB-149). The
 * housekeeping only scans the state and requests deletions (GC-10); work on machines follows from the deletions. The
 * first request that fails ends the run, and a later run finds the rest again.
 *
 * @throws UnknownCoreTaskError, IncompleteCollectionError, any error of a request
 */
export async function runCoreTask(evaluation: Evaluation, deps: CoreSchedulerDeps): Promise<void> {
  const task = coreTaskOf(evaluation);
  const { Namespace } = evaluation;
  const volumeId = coreDataOf(evaluation);
  const scanIndex = deps.appliedIndex;
  const nowNs = nsFromMs(deps.clock.nowMs());
  const run = async (collect: Collect, thresholds = deps.thresholds): Promise<void> => {
    const batches = new ReapBatches((reap) => deps.reap(reap, scanIndex), deps.limits);
    await collect({ tables: deps.tables, nowNs, thresholds, batches, pace: new ScanPace(deps.rest) });
    await batches.flush();
  };
  switch (task) {
    case undefined:
      throw new UnknownCoreTaskError(evaluation.JobID);
    case 'eval-gc':
      return run(collectEvaluations);
    case 'job-gc':
      return run(collectJobs);
    case 'deployment-gc':
      return run(collectDeployments);
    case 'node-gc':
      return run(collectNodes);
    case 'force-gc':
      return everyOne(EVERYTHING, (collect) =>
        run(collect, { ...FORCED_THRESHOLDS, rootKeyNs: deps.thresholds.rootKeyNs }),
      );
    case 'csi-plugin-gc':
      return run(collectPlugins);
    case 'csi-volume-claim-gc':
      return run(
        volumeId === undefined ? wakeVolumes : ({ batches }) => batches.addVolume({ Namespace, ID: volumeId }),
      );
    case 'one-time-token-gc':
      return run(collectOneTimeTokens);
    case 'local-token-expired-gc':
      return run(collectTokens('local'));
    case 'global-token-expired-gc':
      return run(collectTokens('global'));
    case 'root-key-rotate-gc':
    case 'variables-rekey':
      return; // the holder of the role broker does this itself, because only it can make a key
  }
}

/** Runs one after the other, also after a failure. @throws IncompleteCollectionError at the end */
async function everyOne<T>(things: readonly T[], run: (thing: T) => Promise<void>): Promise<void> {
  const failures: unknown[] = [];
  for (const thing of things) {
    try {
      await run(thing);
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw new IncompleteCollectionError(failures);
}
