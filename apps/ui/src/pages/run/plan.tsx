import type { JobPlanResponse } from '../../api/contract.js';
import { placementFailureInWords } from '../../words/placement-failures.js';
import { Diff } from '../jobs/version-changes.js';
import { changesOf } from '../jobs/version-diff.js';
import { updatesInWords } from './plan-words.js';
import type { PlannedJob } from './submit-job.js';

/** What registering a job would do, group by group, and what would find no place. */
export function Plan({ planned: { plan } }: { readonly planned: PlannedJob }) {
  const isNew = plan.Diff?.Type === 'Added';
  return (
    <>
      <h3>Allocations</h3>
      <ul>
        {Object.entries(plan.Annotations?.DesiredTGUpdates ?? {}).map(([group, updates]) => (
          <li key={group}>
            Group {group}: {updatesInWords(updates)}
          </li>
        ))}
        {unplaced(plan).map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
      {plan.Warnings !== '' && (
        <>
          <h3>Warnings</h3>
          <p>{plan.Warnings}</p>
        </>
      )}
      <h3>The job</h3>
      {isNew || !plan.Diff ? <p>It is new.</p> : <Diff changes={changesOf(plan.Diff)} />}
    </>
  );
}

const unplaced = ({ FailedTGAllocs }: JobPlanResponse): readonly string[] =>
  Object.entries(FailedTGAllocs ?? {}).map(
    ([group, metric]) =>
      `Group ${group}: ${metric.CoalescedFailures + 1} would find no place. ${placementFailureInWords(metric).join(' ')}`,
  );
