import type { Author } from '@waybill/writing';
import {
  DEPLOYMENT_UNHEALTHY,
  DEPLOYMENT_FAILED_BY_USER,
  DEPLOYMENT_PAUSED,
  DEPLOYMENT_PENDING_PEER,
  DEPLOYMENT_RUNNING,
  type Deployment,
  Refusal,
} from '@waybill/model';
import type { TxnPayloads } from '@waybill/state';
import { autoRevert, NO_REVERT, type AutoRevert } from '../watching/auto-revert.js';
import { DeploymentCommands, unchanged, type CommandOutcome } from './deployment-commands.js';
import { NO_STABLE_VERSION } from '../watching/revert-remarks.js';
import type { Watching } from '../watching/deployment-watcher.js';

/** Commands of operators on a deployment. */
export class OperatorCommands {
  private readonly commands: DeploymentCommands;

  /** @param watching of the current term; throws if this process does not hold the role */
  constructor(private readonly watching: () => Watching) {
    this.commands = new DeploymentCommands(watching);
  }

  /** Pauses or resumes a deployment (DP-901, DP-902, DP-1118). */
  pause(id: string, pause: boolean, by: Partial<Author>): Promise<CommandOutcome> {
    return this.commands.inTurn(id, pause ? 'pause' : 'resume', async (deployment) => {
      if (pause) return this.pauseNow(deployment, by);
      if (deployment.Status !== 'running' && deployment.Status !== 'paused') return unchanged(deployment);
      return neverRan(deployment)
        ? this.commands.putStatus(
            deployment,
            { Status: 'pending', StatusDescription: DEPLOYMENT_PENDING_PEER, Eval: null },
            by,
          )
        : this.commands.putStatus(
            deployment,
            { Status: 'running', StatusDescription: DEPLOYMENT_RUNNING, Eval: this.commands.evaluation(deployment) },
            by,
          );
    });
  }

  private async pauseNow(deployment: Deployment, by: Partial<Author>): Promise<CommandOutcome> {
    if (!PAUSABLE.has(deployment.Status))
      throw new Refusal('conflict', `can't pause deployment in status "${deployment.Status}"`);
    return this.commands.putStatus(
      deployment,
      { Status: 'paused', StatusDescription: DEPLOYMENT_PAUSED, Eval: null },
      by,
    );
  }

  /** Promotes canaries (DP-850 to DP-857). The state machine checks whether enough of them are healthy. */
  promote(
    id: string,
    wanted: { readonly all: boolean; readonly groups: readonly string[]; readonly promotedAtNs: number },
    by: Partial<Author>,
  ): Promise<CommandOutcome> {
    return this.commands.inTurn(id, 'promote', async (deployment) => {
      const Eval = this.commands.evaluation(deployment);
      const payload = {
        DeploymentID: id,
        All: wanted.all,
        Groups: [...wanted.groups],
        PromotedAt: wanted.promotedAtNs || this.commands.nowNs(),
        Eval,
      };
      const index = await this.watching().writer.write('DeploymentPromote', payload, deployment.Namespace, by);
      return { evalId: Eval.ID, index, revertedVersion: null };
    });
  }

  /** Fails a deployment (DP-905). */
  fail(id: string, by: Partial<Author>): Promise<CommandOutcome> {
    return this.commands.fail(id, DEPLOYMENT_FAILED_BY_USER, by);
  }

  /** Unblocks a deployment that waits for other regions (DP-1129). */
  unblock(id: string, by: Partial<Author>): Promise<CommandOutcome> {
    return this.commands.unblock(id, by);
  }

  /**
   * Sets the health of allocations (DP-906 to DP-910). An unhealthy one fails the deployment in the same transaction.
   */
  setHealth(
    id: string,
    ids: { readonly healthy: readonly string[]; readonly unhealthy: readonly string[] },
    by: Partial<Author>,
  ): Promise<CommandOutcome> {
    if (ids.healthy.length + ids.unhealthy.length === 0)
      return Promise.reject(new Refusal('invalid', 'must specify at least one healthy/unhealthy allocation ID'));
    return this.commands.inTurn(id, 'set health of allocations for a', async (deployment) => {
      const revert = this.revertForUnhealthy(deployment, ids.unhealthy);
      const Eval = this.commands.evaluation(deployment);
      const payload: TxnPayloads['DeploymentAllocHealth'] = {
        DeploymentID: id,
        HealthyAllocationIDs: [...ids.healthy],
        UnhealthyAllocationIDs: [...ids.unhealthy],
        Timestamp: this.commands.nowNs(),
        DeploymentUpdate:
          ids.unhealthy.length === 0
            ? null
            : { DeploymentID: id, Status: 'failed', StatusDescription: DEPLOYMENT_UNHEALTHY + revert.remark },
        Eval,
        ...revert.payload,
      };
      const index = await this.watching().writer.write('DeploymentAllocHealth', payload, deployment.Namespace, by);
      return { evalId: Eval.ID, index, revertedVersion: this.commands.reverted(id, revert) };
    });
  }

  /**
   * Reverts the groups of the named allocations (DP-803). Without a stable version the description does not mention it.
   */
  private revertForUnhealthy(deployment: Deployment, unhealthy: readonly string[]): AutoRevert {
    const { tables } = this.watching();
    const wanted = unhealthy.some((id) => {
      const alloc = tables.allocs.get(id);
      return alloc?.DeploymentID === deployment.ID && deployment.TaskGroups[alloc.TaskGroup]?.AutoRevert === true;
    });
    const revert = wanted ? autoRevert(tables, deployment) : NO_REVERT;
    return revert.remark === NO_STABLE_VERSION ? NO_REVERT : revert;
  }
}

const PAUSABLE: ReadonlySet<Deployment['Status']> = new Set(['running', 'paused', 'pending']);

/** Whether the deployment waits for its region's turn; deployments of one region start as running (DP-1118). */
const neverRan = ({ IsMultiregion, HasRun }: Deployment): boolean => IsMultiregion && HasRun !== true;
