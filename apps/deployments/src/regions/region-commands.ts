import type { Author } from '@waybill/writing';
import {
  DEPLOYMENT_FAILED_BY_PEER,
  DEPLOYMENT_UNBLOCKING,
  DEPLOYMENT_RUNNING,
  type Deployment,
  Refusal,
} from '@waybill/model';
import { DeploymentCommands, unchanged, type CommandOutcome } from '../commands/deployment-commands.js';
import type { Watching } from '../watching/deployment-watcher.js';

/**
 * Commands of regions, this one included, on a deployment of this region. Each can be repeated without harm (DP-1120).
 */
export class RegionCommands {
  private readonly commands: DeploymentCommands;

  /** @param watching of the current term; throws if this process does not hold the role */
  constructor(watching: () => Watching) {
    this.commands = new DeploymentCommands(watching);
  }

  /**
   * Starts the deployment, because its turn has come (DP-1114). A deployment that an operator has paused stays paused
   * (DP-904).
   */
  start(id: string, by: Partial<Author>): Promise<CommandOutcome> {
    return this.commands.inTurn(id, 'run', async (deployment) => {
      if (deployment.Status === 'initializing')
        throw new Refusal('conflict', "can't run deployment before it is planned, ask again");
      if (deployment.Status !== 'pending') return unchanged(deployment);
      return this.commands.putStatus(
        deployment,
        { Status: 'running', StatusDescription: DEPLOYMENT_RUNNING, Eval: this.commands.evaluation(deployment) },
        by,
      );
    });
  }

  /** Marks the deployment as finishing the rollout (DP-1121). */
  beginUnblocking(id: string, by: Partial<Author>): Promise<CommandOutcome> {
    return this.commands.inTurn(id, 'unblock', async (deployment) =>
      deployment.Status === 'blocked'
        ? this.commands.putStatus(
            deployment,
            { Status: 'unblocking', StatusDescription: DEPLOYMENT_UNBLOCKING, Eval: null },
            by,
          )
        : unchanged(deployment),
    );
  }

  /** Marks the deployment as successful, because all regions are done (DP-1117). */
  unblock(id: string, by: Partial<Author>): Promise<CommandOutcome> {
    return this.commands.unblock(id, by);
  }

  /** Fails the deployment, because another region failed (DP-1123). */
  fail(id: string, by: Partial<Author>): Promise<CommandOutcome> {
    return this.commands.fail(id, DEPLOYMENT_FAILED_BY_PEER, by);
  }
}

/** Whether a deployment is this region's part of a multiregion rollout. */
export const isRegional = (deployment: Deployment | null | undefined): deployment is Deployment =>
  deployment?.IsMultiregion === true;
