import { All, Controller, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { operatorRead } from '../access/needs.js';
import { ApiError, notFound } from '../http/api-error.js';
import { type ApiReply, type ApiRequest, sendJson } from '../http/reply.js';
import { AutopilotHealth, MAX_TRAILING_LOGS } from './autopilot-health.js';

/** The initial configuration of the reference. It has no effect: leases decide who holds a role (OP-64). */
const CONFIGURATION = {
  CleanupDeadServers: true,
  LastContactThreshold: '200ms',
  MaxTrailingLogs: MAX_TRAILING_LOGS,
  MinQuorum: 0,
  ServerStabilizationTime: '10s',
  EnableRedundancyZones: false,
  DisableUpgradeMigration: false,
  EnableCustomUpgrades: false,
  CreateIndex: 0,
  ModifyIndex: 0,
};

/** The controller of `/v1/operator/autopilot/…` (OP-64 to OP-66). */
@Controller('v1/operator/autopilot')
export class AutopilotController {
  constructor(private readonly servers: AutopilotHealth) {}

  /** Returns the configuration. With a wrong method, the path does not exist (API-3). */
  @All('configuration')
  @Needs(operatorRead)
  configuration(@Req() request: ApiRequest, @Res() reply: ApiReply): void {
    if (request.method === 'PUT')
      throw new ApiError(501, 'there is no autopilot to configure: roles are held by leases (WAYBILL_LEASE_TTL_MS)');
    if (request.method !== 'GET') throw notFound('Invalid method');
    sendJson(request, reply, CONFIGURATION);
  }

  /** Answers 429 with the same body if the cluster is unhealthy (OP-65). */
  @All('health')
  @Needs(operatorRead)
  async health(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    if (request.method !== 'GET') throw notFound('Invalid method');
    const answer = await this.servers.readHealth();
    sendJson(request, reply, answer, answer.Healthy ? 200 : 429);
  }
}
