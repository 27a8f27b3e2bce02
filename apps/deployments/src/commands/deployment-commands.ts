import type { Author } from '@waybill/writing';
import { DEPLOYMENT_SUCCESSFUL, isActiveDeployment, nsFromMs, type Deployment, Refusal } from '@waybill/model';
import type { TxnPayloads } from '@waybill/state';
import { NO_REVERT, type AutoRevert } from '../watching/auto-revert.js';
import { failureOf } from '../watching/deployment-failure.js';
import type { Watching } from '../watching/deployment-watcher.js';
import { watcherEvaluation } from '../watching/rolled-out-job.js';

/** The outcome of a command. */
export interface CommandOutcome {
  /** "" if no evaluation was needed. */
  readonly evalId: string;
  readonly index: number;
  /** Version to which the failure reverted the job; null if it did not. */
  readonly revertedVersion: number | null;
}

/** The outcome of a command that had nothing to write. */
export const unchanged = (deployment: Deployment): CommandOutcome => ({
  evalId: '',
  index: deployment.ModifyIndex,
  revertedVersion: null,
});

/** A status of a deployment as it is written. */
export interface WrittenStatus {
  readonly Status: Deployment['Status'];
  readonly StatusDescription: string;
  readonly Eval: ReturnType<typeof watcherEvaluation> | null;
}

/** Carries out commands of operators and of other regions, as the holder: one at a time for each deployment. */
export class DeploymentCommands {
  /** @param watching of the current term; throws if this process does not hold the role */
  constructor(readonly watching: () => Watching) {}

  /** Decides each command on the deployment as the previous write left it (DP-1204, DP-1205). */
  async inTurn(
    id: string,
    verb: string,
    command: (deployment: Deployment) => Promise<CommandOutcome>,
  ): Promise<CommandOutcome> {
    if (id === '') throw new Refusal('invalid', 'missing deployment ID');
    return this.watching().turns.runInTurn(id, async () => {
      const deployment = this.watching().tables.deployment.get(id);
      if (!deployment) throw new Refusal('not-found', 'deployment not found');
      if (!isActiveDeployment(deployment)) throw new Refusal('conflict', `can't ${verb} terminal deployment`);
      return command(deployment);
    });
  }

  /**
   * Fails the deployment, and reverts to the last stable version if a group wants that (DP-801, DP-803). @param cause
   * the beginning of the description
   */
  fail(id: string, cause: string, by: Partial<Author>): Promise<CommandOutcome> {
    return this.inTurn(id, 'fail', async (deployment) => {
      const reverts = Object.values(deployment.TaskGroups).some((state) => state.AutoRevert);
      const { payload, revert } = failureOf(this.watching(), deployment, cause, reverts);
      const index = await this.watching().writer.write('DeploymentStatusUpdate', payload, deployment.Namespace, by);
      return { evalId: payload.Eval?.ID ?? '', index, revertedVersion: this.reverted(id, revert) };
    });
  }

  /** Ends the wait of a deployment for other regions (DP-1117). */
  unblock(id: string, by: Partial<Author>): Promise<CommandOutcome> {
    return this.inTurn(id, 'unblock', async (deployment) => {
      if (deployment.Status !== 'blocked' && deployment.Status !== 'unblocking')
        throw new Refusal('conflict', "can't unblock running deployment");
      return this.putStatus(
        deployment,
        { Status: 'successful', StatusDescription: DEPLOYMENT_SUCCESSFUL, Eval: this.evaluation(deployment) },
        by,
      );
    });
  }

  /** Writes a status of the deployment, with an evaluation of its job if there is one. */
  async putStatus(
    deployment: Deployment,
    { Status, StatusDescription, Eval }: WrittenStatus,
    by: Partial<Author>,
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

  evaluation(deployment: Deployment): ReturnType<typeof watcherEvaluation> {
    const { tables, newId } = this.watching();
    return watcherEvaluation(tables, deployment, newId(), this.nowNs());
  }

  /**
   * The version that the job was reverted to. The description has its suffix exactly if the old version was written
   * (DP-810).
   */
  reverted(id: string, { version, payload }: AutoRevert): number | null {
    const description = this.watching().tables.deployment.get(id)?.StatusDescription;
    return version !== null && description?.endsWith(payload.RevertSuffix) ? version : null;
  }

  nowNs(): number {
    return nsFromMs(this.watching().clock.nowMs());
  }
}
