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

/** What operators ask of a deployment; the same questions come from the API on any machine. */
export class OperatorCommands {
  private readonly commands: DeploymentCommands;

  /** @param watching of the present term; throws when this process does not hold the role */
  constructor(private readonly watching: () => Watching) {
    this.commands = new DeploymentCommands(watching);
  }

  /** DP-901, DP-902, DP-1118. */
  pause(id: string, pause: boolean, by: Partial<Author>): Promise<CommandOutcome> {
    return this.commands.inTurn(id, pause ? 'pause' : 'resume', async (deployment) => {
      if (pause) return this.pauseNow(deployment, by);
      if (deployment.Status !== 'running' && deployment.Status !== 'paused') return unchanged(deployment);
      return neverRan(deployment)
        ? this.commands.putStatus(deployment, 'pending', DEPLOYMENT_PENDING_PEER, null, by)
        : this.commands.putStatus(deployment, 'running', DEPLOYMENT_RUNNING, this.commands.evaluation(deployment), by);
    });
  }

  private async pauseNow(deployment: Deployment, by: Partial<Author>): Promise<CommandOutcome> {
    if (!PAUSABLE.has(deployment.Status))
      throw new Refusal('conflict', `can't pause deployment in status "${deployment.Status}"`);
    return this.commands.putStatus(deployment, 'paused', DEPLOYMENT_PAUSED, null, by);
  }

  /** DP-850 to DP-857; whether there are enough healthy canaries is judged when it is applied. */
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

  /** DP-905. */
  fail(id: string, by: Partial<Author>): Promise<CommandOutcome> {
    return this.commands.fail(id, DEPLOYMENT_FAILED_BY_USER, by);
  }

  /** DP-1129: of a deployment that waits for other regions. */
  unblock(id: string, by: Partial<Author>): Promise<CommandOutcome> {
    return this.commands.unblock(id, by);
  }

  /** DP-906 to DP-910. Any unhealthy one fails the deployment in the same transaction. */
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

  /** DP-803: of the groups of the allocations named; without a stable version nothing is said about it. */
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

/** DP-1118: it waits for its region's turn; other deployments were born running. */
const neverRan = ({ IsMultiregion, HasRun }: Deployment): boolean => IsMultiregion && HasRun !== true;
