import { DEPLOYMENT_RUNNING, isActiveDeployment, nsFromMs, type Deployment } from '@waybill/model';
import type { TxnPayloads } from '@waybill/state';
import { autoRevert, NO_REVERT, type AutoRevert } from './auto-revert.js';
import { FAILED_BY_HEALTH, FAILED_BY_USER, NO_STABLE_VERSION, PAUSED, SUCCESSFUL } from './deployment-descriptions.js';
import { failureOf } from './deployment-failure.js';
import type { Watching } from './deployment-watcher.js';
import type { AskedBy } from '@waybill/lease';
import { watcherEvaluation } from './rolled-out-job.js';

/** A command that this deployment's state does not allow; nothing was written. */
export class CommandRefusedError extends Error {
  override readonly name = 'CommandRefusedError';
}

/** What a command came to. */
export interface CommandOutcome {
  /** "": none was needed. */
  readonly evalId: string;
  readonly index: number;
  /** Version that the failure brought back; null: none. */
  readonly revertedVersion: number | null;
}

/** What operators ask of a deployment; the same questions come from the API on any machine. */
export class OperatorCommands {
  /** @param watching of the present term; throws when this process does not hold the role */
  constructor(private readonly watching: () => Watching) {}

  /** DP-901, DP-902, DP-1118. */
  pause(id: string, pause: boolean, by: AskedBy): Promise<CommandOutcome> {
    return this.inTurn(id, pause ? 'pause' : 'resume', async (deployment) => {
      if (!pause && deployment.Status !== 'running' && deployment.Status !== 'paused')
        return { evalId: '', index: deployment.ModifyIndex, revertedVersion: null };
      if (pause && !PAUSABLE.has(deployment.Status))
        throw new CommandRefusedError(`can't pause deployment in status "${deployment.Status}"`);
      return pause
        ? this.putStatus(deployment, 'paused', PAUSED, null, by)
        : this.putStatus(deployment, 'running', DEPLOYMENT_RUNNING, this.evaluation(deployment), by);
    });
  }

  /** DP-850 to DP-857; whether there are enough healthy canaries is judged when it is applied. */
  promote(
    id: string,
    wanted: { readonly all: boolean; readonly groups: readonly string[]; readonly promotedAtNs: number },
    by: AskedBy,
  ): Promise<CommandOutcome> {
    return this.inTurn(id, 'promote', async (deployment) => {
      const Eval = this.evaluation(deployment);
      const payload = {
        DeploymentID: id,
        All: wanted.all,
        Groups: [...wanted.groups],
        PromotedAt: wanted.promotedAtNs || this.nowNs(),
        Eval,
      };
      const index = await this.watching().writer.write('DeploymentPromote', payload, deployment.Namespace, by);
      return { evalId: Eval.ID, index, revertedVersion: null };
    });
  }

  /** DP-905. */
  fail(id: string, by: AskedBy): Promise<CommandOutcome> {
    return this.inTurn(id, 'fail', async (deployment) => {
      const reverts = Object.values(deployment.TaskGroups).some((state) => state.AutoRevert);
      const { payload, revert } = failureOf(this.watching(), deployment, FAILED_BY_USER, reverts);
      const index = await this.watching().writer.write('DeploymentStatusUpdate', payload, deployment.Namespace, by);
      return { evalId: payload.Eval?.ID ?? '', index, revertedVersion: this.reverted(id, revert) };
    });
  }

  /** DP-1117: of a deployment that waits for other regions. */
  unblock(id: string, by: AskedBy): Promise<CommandOutcome> {
    return this.inTurn(id, 'unblock', async (deployment) => {
      if (deployment.Status !== 'blocked' && deployment.Status !== 'unblocking')
        throw new CommandRefusedError("can't unblock running deployment");
      return this.putStatus(deployment, 'successful', SUCCESSFUL, this.evaluation(deployment), by);
    });
  }

  /** DP-906 to DP-910. Any unhealthy one fails the deployment in the same transaction. */
  setHealth(
    id: string,
    ids: { readonly healthy: readonly string[]; readonly unhealthy: readonly string[] },
    by: AskedBy,
  ): Promise<CommandOutcome> {
    if (ids.healthy.length + ids.unhealthy.length === 0)
      return Promise.reject(new CommandRefusedError('must specify at least one healthy/unhealthy allocation ID'));
    return this.inTurn(id, 'set health of allocations for a', async (deployment) => {
      const revert = this.revertForUnhealthy(deployment, ids.unhealthy);
      const Eval = this.evaluation(deployment);
      const payload: TxnPayloads['DeploymentAllocHealth'] = {
        DeploymentID: id,
        HealthyAllocationIDs: [...ids.healthy],
        UnhealthyAllocationIDs: [...ids.unhealthy],
        Timestamp: this.nowNs(),
        DeploymentUpdate:
          ids.unhealthy.length === 0
            ? null
            : { DeploymentID: id, Status: 'failed', StatusDescription: FAILED_BY_HEALTH + revert.remark },
        Eval,
        ...revert.payload,
      };
      const index = await this.watching().writer.write('DeploymentAllocHealth', payload, deployment.Namespace, by);
      return { evalId: Eval.ID, index, revertedVersion: this.reverted(id, revert) };
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

  private async putStatus(
    deployment: Deployment,
    Status: Deployment['Status'],
    StatusDescription: string,
    Eval: ReturnType<typeof watcherEvaluation> | null,
    by: AskedBy,
  ): Promise<CommandOutcome> {
    const payload: TxnPayloads['DeploymentStatusUpdate'] = {
      Update: { DeploymentID: deployment.ID, Status, StatusDescription },
      UpdatedAt: this.nowNs(),
      Eval,
      ...NO_REVERT.payload,
    };
    const index = await this.watching().writer.write('DeploymentStatusUpdate', payload, deployment.Namespace, by);
    return { evalId: Eval?.ID ?? '', index, revertedVersion: null };
  }

  /** Every command is decided on the deployment as the write before has left it (DP-1204, DP-1205). */
  private async inTurn(
    id: string,
    verb: string,
    command: (deployment: Deployment) => Promise<CommandOutcome>,
  ): Promise<CommandOutcome> {
    if (id === '') throw new CommandRefusedError('missing deployment ID');
    return this.watching().turns.take(id, async () => {
      const deployment = this.watching().tables.deployment.get(id);
      if (!deployment) throw new CommandRefusedError('deployment not found');
      if (!isActiveDeployment(deployment)) throw new CommandRefusedError(`can't ${verb} terminal deployment`);
      return command(deployment);
    });
  }

  /** DP-810: the suffix is there exactly when the old version was written. */
  private reverted(id: string, { version, payload }: AutoRevert): number | null {
    const description = this.watching().tables.deployment.get(id)?.StatusDescription;
    return version !== null && description?.endsWith(payload.RevertSuffix) ? version : null;
  }

  private evaluation(deployment: Deployment): ReturnType<typeof watcherEvaluation> {
    const { tables, newId } = this.watching();
    return watcherEvaluation(tables, deployment, newId(), this.nowNs());
  }

  private nowNs(): number {
    return nsFromMs(this.watching().clock.nowMs());
  }
}

const PAUSABLE: ReadonlySet<Deployment['Status']> = new Set(['running', 'paused', 'pending']);
