import type { Deployment } from '@waybill/model';
import type { Display } from '../terminal/display.js';
import { table } from '../terminal/table.js';

/** Lists deployments, one row each (CL-601). */
export function deploymentTable(deployments: readonly Deployment[], display: Display): string {
  return table([
    ['ID', 'Job ID', 'Job Version', 'Status', 'Description'],
    ...deployments.map((deployment) => [
      display.id(deployment.ID),
      deployment.JobID,
      String(deployment.JobVersion),
      deployment.Status,
      deployment.StatusDescription,
    ]),
  ]);
}

/** Lists deployments, or returns a text if there are none. */
export const deploymentList = (deployments: readonly Deployment[], display: Display): string =>
  deployments.length === 0 ? 'No deployments found' : deploymentTable(deployments, display);
