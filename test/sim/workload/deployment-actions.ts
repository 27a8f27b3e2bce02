import { failDeployment, pauseDeployment, promoteDeployment } from '@waybill/rpc';
import type { Actions } from './action.js';
import { chosenDeployment } from './chosen.js';

export const DEPLOYMENT_ACTIONS: Actions = {
  promote: [
    8,
    (api, cluster, random) => {
      const deployment = chosenDeployment(cluster, random);
      return (
        deployment &&
        api.command(promoteDeployment, { DeploymentID: deployment.ID, All: true, Groups: [], PromotedAt: 0 })
      );
    },
  ],
  'fail deployment': [
    2,
    (api, cluster, random) => {
      const deployment = chosenDeployment(cluster, random);
      return deployment && api.command(failDeployment, { DeploymentID: deployment.ID });
    },
  ],
  'pause deployment': [
    4,
    (api, cluster, random) => {
      const deployment = chosenDeployment(cluster, random);
      return deployment && api.command(pauseDeployment, { DeploymentID: deployment.ID, Pause: random.chance(0.4) });
    },
  ],
};
