import { COMPATIBLE_VERSION } from '@waybill/model';
import type { ReadModel } from '@waybill/projection';
import { addressOf, type Member } from './member.js';

/** The number of transactions by which a healthy process may lag behind (OP-65). */
export const MAX_TRAILING_LOGS = 250;

export interface ServersHealth {
  readonly Healthy: boolean;
  readonly FailureTolerance: number;
  readonly Servers: readonly object[];
  readonly Leader: string;
  readonly Voters: readonly string[];
}

/**
 * AutopilotHealth says whether the servers are healthy, in autopilot's form (OP-65, OP-66). It has no state and checks
 * on request.
 */
export class AutopilotHealth {
  constructor(
    private readonly model: Pick<ReadModel, 'appliedIndex' | 'leases'>,
    private readonly members: { list(): Promise<readonly Member[]> },
    private readonly log: { readonly up: boolean },
    private readonly streamReplicas: number,
  ) {}

  async readHealth(): Promise<ServersHealth> {
    const [applied, leases, members] = await Promise.all([
      this.model.appliedIndex(),
      this.model.leases(),
      this.members.list(),
    ]);
    const term = leases.find(({ Role }) => Role === 'broker')?.Epoch ?? 0;
    const isWell = ({ AppliedIndex }: Member): boolean => this.log.up && AppliedIndex + MAX_TRAILING_LOGS > applied;
    return {
      Healthy: members.every(isWell),
      FailureTolerance: failureTolerance(this.streamReplicas),
      Servers: members.map((member, at) => ({
        ID: member.ID,
        Name: member.Name,
        Address: addressOf(member),
        SerfStatus: 'alive',
        Version: COMPATIBLE_VERSION,
        Leader: at === 0,
        LastContact: '0s',
        LastTerm: term,
        LastIndex: member.AppliedIndex,
        Healthy: isWell(member),
        Voter: true,
        StableSince: `${new Date(member.StartedMs).toISOString().slice(0, 19)}Z`,
      })),
      Leader: members[0]?.ID ?? '',
      Voters: members.map(({ ID }) => ID),
    };
  }
}

/** Returns how many replicas of the log may be lost while it still accepts writes (OP-66). */
const failureTolerance = (replicas: number): number => Math.floor((replicas - 1) / 2);
