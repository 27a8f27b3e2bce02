import type { Deployment, DeploymentState } from '@waybill/model';
import type { ApiClient } from '../server/api-client.js';
import type { Display } from '../terminal/display.js';
import { causeOf, isInterrupt } from '../failure.js';
import { multiregionTable } from '../jobs/multiregion-table.js';
import { sortedEntries } from '../terminal/sorted-entries.js';
import { keyValues, table } from '../terminal/table.js';
import { absoluteTime } from '../terminal/times.js';

/** Shown instead of a deadline until the first allocation, because the deadline starts with it. */
const NOT_BEGUN = 'from first placement';

const groupsOf = (deployment: Pick<Deployment, 'TaskGroups'>): [string, DeploymentState][] =>
  sortedEntries(deployment.TaskGroups);

/** Lists the groups of a deployment (CL-613). */
export function deployedTable(deployment: Pick<Deployment, 'TaskGroups'>): string {
  const groups = groupsOf(deployment);
  const states = groups.map(([, state]) => state);
  const revert = states.some((s) => s.AutoRevert);
  const canaries = states.some((s) => s.DesiredCanaries > 0);
  const deadline = states.some((s) => s.ProgressDeadline > 0);
  const when = <T>(shown: boolean, cell: T): T[] => (shown ? [cell] : []);
  return table([
    [
      'Task Group',
      ...when(revert, 'Auto Revert'),
      ...when(canaries, 'Promoted'),
      'Desired',
      ...when(canaries, 'Canaries'),
      'Placed',
      'Healthy',
      'Unhealthy',
      ...when(deadline, 'Progress Deadline'),
    ],
    ...groups.map(([name, s]) => [
      name,
      ...when(revert, String(s.AutoRevert)),
      ...when(canaries, s.DesiredCanaries > 0 ? String(s.Promoted) : 'N/A'),
      String(s.DesiredTotal),
      ...when(canaries, String(s.DesiredCanaries)),
      String(s.PlacedAllocs),
      String(s.HealthyAllocs),
      String(s.UnhealthyAllocs),
      ...when(deadline, s.ProgressDeadline > 0 ? absoluteTime(s.RequireProgressBy) || NOT_BEGUN : 'N/A'),
    ]),
  ]);
}

/** Returns the monitor's block for a deployment, including other regions of a multiregion rollout (CL-611, CL-612). */
export async function deploymentBlock(
  api: ApiClient,
  deployment: Deployment,
  display: Display,
  bold: (text: string) => string,
): Promise<string> {
  const list = keyValues([
    ['ID', display.id(deployment.ID)],
    ['Job ID', deployment.JobID],
    ['Job Version', String(deployment.JobVersion)],
    ['Status', deployment.Status],
    ['Description', deployment.StatusDescription],
  ]);
  const parts = [list];
  if (deployment.IsMultiregion) parts.push(await regionsPart(api, deployment, display, bold));
  if (groupsOf(deployment).length > 0) parts.push(`${bold('Deployed')}\n${deployedTable(deployment)}`);
  return parts.join('\n\n');
}

async function regionsPart(
  api: ApiClient,
  deployment: Deployment,
  display: Display,
  bold: (text: string) => string,
): Promise<string> {
  try {
    const regions = await multiregionTable(api, deployment, (id) => display.id(id));
    return `${bold('Multiregion Deployment')}\n${regions}`;
  } catch (error) {
    if (isInterrupt(error)) throw error;
    return `Error fetching multiregion deployment: ${causeOf(error)}`;
  }
}
