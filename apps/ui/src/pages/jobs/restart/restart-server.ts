import { restartRunningTasks, stopAllocation } from '../../../api/changes.js';
import { callApi } from '../../../api/client.js';
import type { Job } from '../../../api/contract.js';
import type { ObjectName } from '../../../app/object-address.js';
import { shortId } from '../../../components/object-links.js';
import { isActive } from '../../deployments/rollout.js';
import { placementProblems } from '../job-problems.js';
import type { RestartServer } from './restart-run.js';

/** The longest wait for a change of an allocation, after which the job's evaluations are looked at again. */
const WAIT = '5s';

/** The server of a run, for one job. It asks anew each time, because a run lasts longer than what pages keep. */
export function restartServer(name: ObjectName, job: Job): RestartServer {
  const ofJob = { path: { jobID: name.id }, query: { namespace: name.namespace } };
  return {
    activeDeployment: async () => {
      const active = (await callApi('GET /v1/job/{jobID}/deployments', ofJob)).find(isActive);
      return active && shortId(active.ID);
    },
    restart: restartRunningTasks,
    stop: stopAllocation,
    allocation: (id, index, signal) =>
      callApi('GET /v1/allocation/{allocID}', { path: { allocID: id }, query: { index, wait: WAIT }, signal }),
    replacementFailure: async (group) => {
      if ((await callApi('GET /v1/job/{jobID}', ofJob)).Stop) return 'The job was stopped.';
      const evaluations = await callApi('GET /v1/job/{jobID}/evaluations', ofJob);
      return placementProblems(evaluations, job)
        .find((problem) => problem.group === group)
        ?.reasons.join(' ');
    },
  };
}
