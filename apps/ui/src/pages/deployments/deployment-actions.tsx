import { failDeployment, pauseDeployment, promoteDeployment } from '../../api/changes.js';
import type { Deployment } from '../../api/contract.js';
import { Action } from '../../components/action.js';
import { groupsToPromote, isActive } from './rollout.js';

/** What can be decided about a rollout while it goes on. */
export function DeploymentActions({ deployment }: { readonly deployment: Deployment }) {
  if (!isActive(deployment)) return undefined;
  const { ID, Namespace: namespace, Status, JobID, JobVersion, TaskGroups } = deployment;
  const reverts = Object.values(TaskGroups).some(({ AutoRevert }) => AutoRevert);
  return (
    <>
      {groupsToPromote(deployment).length > 0 && (
        <Action
          needs={{ route: 'promoteDeployment', namespace }}
          label="Promote"
          tone="main"
          title={`Promote version ${JobVersion} of ${JobID}?`}
          text="The canaries become the version that runs, and the allocations of the old one are replaced."
          run={() => promoteDeployment(ID)}
        />
      )}
      <Action
        needs={{ route: 'pauseDeployment', namespace }}
        label={Status === 'paused' ? 'Resume' : 'Pause'}
        title={Status === 'paused' ? 'Go on with the rollout?' : 'Pause the rollout?'}
        text={
          Status === 'paused'
            ? 'It goes on where it was.'
            : 'What runs goes on; nothing more is replaced until it is resumed.'
        }
        run={() => pauseDeployment(ID, Status !== 'paused')}
      />
      <Action
        needs={{ route: 'failDeployment', namespace }}
        label="Fail"
        tone="danger"
        title={`Give up version ${JobVersion} of ${JobID}?`}
        text={
          reverts
            ? 'The job goes back to its last stable version.'
            : 'The rollout ends. What was replaced stays as it is.'
        }
        run={() => failDeployment(ID)}
      />
    </>
  );
}
