import { All, Controller, Req, Res } from '@nestjs/common';
import { ReadModel } from '@waybill/projection';
import { ApiCore } from '../api-core.js';
import { ApiError, notFound } from '../http/api-error.js';
import { type ApiReply, type ApiRequest, sendJson } from '../http/reply.js';
import { AgentIdentity, COMPATIBLE_VERSION } from './agent-identity.js';

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
  private readonly since: string;

  constructor(
    private readonly core: ApiCore,
    private readonly identity: AgentIdentity,
    private readonly model: ReadModel,
  ) {
    this.since = `${new Date(core.context.clock.nowMs()).toISOString().slice(0, 19)}Z`;
  }

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
    const applied = await this.model.appliedIndex();
    const healthy = link.up;
    const server = {
      ID: this.identity.instanceId,
      Name: this.identity.memberName,
      Address: this.identity.address,
      SerfStatus: 'alive',
      Version: COMPATIBLE_VERSION,
      Leader: true,
      LastContact: '0s',
      LastTerm: 1,
      LastIndex: applied,
      Healthy: healthy,
      Voter: true,
      StableSince: this.since,
    };
    const answer = {
      Healthy: healthy,
      FailureTolerance: failureTolerance(settings.WAYBILL_STREAM_REPLICAS),
      Servers: [server],
      Leader: server.ID,
      Voters: [server.ID],
    };
    sendJson(request, reply, answer, healthy ? 200 : 429);
  }
}

/** OP-66: how many copies of the log may be lost while it still takes writes. */
export const failureTolerance = (replicas: number): number => Math.floor((replicas - 1) / 2);
