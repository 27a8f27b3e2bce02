import { All, Controller, Req, Res } from '@nestjs/common';
import { COMPATIBLE_VERSION } from '@waybill/model';
import { ReadModel } from '@waybill/projection';
import { ApiCore } from '../api-core.js';
import { ApiError, notFound } from '../http/api-error.js';
import { type ApiReply, type ApiRequest, sendJson } from '../http/reply.js';
import { addressOf, type Member } from './member.js';
import { Members } from './members.transport.js';

/** What the reference begins with. Nothing of it is acted on: who holds a role is decided by leases (OP-64). */
const CONFIGURATION = {
  CleanupDeadServers: true,
  LastContactThreshold: '200ms',
  MaxTrailingLogs: 250,
  MinQuorum: 0,
  ServerStabilizationTime: '10s',
  EnableRedundancyZones: false,
  DisableUpgradeMigration: false,
  EnableCustomUpgrades: false,
  CreateIndex: 0,
  ModifyIndex: 0,
};

/** `/v1/operator/autopilot/…` (OP-64 to OP-66). */
@Controller('v1/operator/autopilot')
export class AutopilotController {
  constructor(
    private readonly core: ApiCore,
    private readonly members: Members,
    private readonly model: ReadModel,
  ) {}

  /** API-3: a wrong method is a path that does not exist. */
  @All('configuration')
  configuration(@Req() request: ApiRequest, @Res() reply: ApiReply): void {
    if (request.method === 'PUT')
      throw new ApiError(501, 'there is no autopilot to configure: roles are held by leases (WAYBILL_LEASE_TTL_MS)');
    if (request.method !== 'GET') throw notFound('Invalid method');
    sendJson(request, reply, CONFIGURATION);
  }

  /** OP-65: 429 when it is not well, with the same body. */
  @All('health')
  async health(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    if (request.method !== 'GET') throw notFound('Invalid method');
    const { link, settings } = this.core.context;
    const [applied, leases, members] = await Promise.all([
      this.model.appliedIndex(),
      this.model.leases(),
      this.members.list(),
    ]);
    const term = leases.find(({ Role }) => Role === 'broker')?.Epoch ?? 0;
    const isCurrent = ({ AppliedIndex }: Member): boolean => AppliedIndex + CONFIGURATION.MaxTrailingLogs > applied;
    const servers = members.map((member, at) => ({
      ID: member.ID,
      Name: member.Name,
      Address: addressOf(member),
      SerfStatus: 'alive',
      Version: COMPATIBLE_VERSION,
      Leader: at === 0,
      LastContact: '0s',
      LastTerm: term,
      LastIndex: member.AppliedIndex,
      Healthy: link.up && isCurrent(member),
      Voter: true,
      StableSince: `${new Date(member.StartedMs).toISOString().slice(0, 19)}Z`,
    }));
    const healthy = servers.every(({ Healthy }) => Healthy);
    const answer = {
      Healthy: healthy,
      FailureTolerance: failureTolerance(settings.WAYBILL_STREAM_REPLICAS),
      Servers: servers,
      Leader: servers[0]?.ID ?? '',
      Voters: servers.map(({ ID }) => ID),
    };
    sendJson(request, reply, answer, healthy ? 200 : 429);
  }
}

/** OP-66: how many copies of the log may be lost while it still takes writes. */
export const failureTolerance = (replicas: number): number => Math.floor((replicas - 1) / 2);
