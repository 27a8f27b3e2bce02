import { Controller, Get, Post, Put, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { agentRead, agentWrite } from '../access/needs.js';
import { DecodeError, rfc3339FromMs, wire, Refusal } from '@waybill/model';
import { areSchedulers, KNOWN_SCHEDULERS, type PoolReport, sharedOut } from '@waybill/rpc';
import { badRequest, unavailable } from '../http/api-error.js';
import { readJsonBody } from '../http/body.js';
import { type ApiReply, type ApiRequest, sendJson } from '../http/reply.js';
import { AgentIdentity } from './agent-identity.js';
import { SchedulerPools } from './scheduler-pools.transport.js';

interface PoolRequest {
  readonly num_schedulers: number;
  readonly enabled_schedulers: string[] | null;
}

/** The body of a change of the worker pool; its member `server_id` is ignored (OP-87). */
const POOL: wire.Shape<PoolRequest> = {
  name: 'SchedulerWorkerPool',
  fields: { num_schedulers: wire.uint(), enabled_schedulers: wire.list(wire.string()) },
};

/**
 * The controller of `/v1/agent/schedulers…` (EB-314, EB-315). To a client the control plane is one server, whichever
 * API process it asks. Its workers are those of all scheduler processes together, and a new number is divided among
 * these processes. The number is valid until they end: a process that starts anew begins with its own setting.
 */
@Controller('v1/agent/schedulers')
export class SchedulerWorkersController {
  constructor(
    private readonly pools: SchedulerPools,
    private readonly identity: AgentIdentity,
  ) {}

  @Get()
  @Needs(agentRead)
  async workers(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const pools = await this.pools.gatherReports();
    const schedulers = pools.flatMap(({ workers }) =>
      workers.map(({ id, enabledSchedulers, startedMs, status, workloadStatus }) => ({
        id,
        enabled_schedulers: enabledSchedulers,
        started: rfc3339FromMs(startedMs),
        status,
        workload_status: workloadStatus,
      })),
    );
    sendJson(request, reply, { server_id: this.identity.memberName, schedulers });
  }

  @Get('config')
  @Needs(agentRead)
  async config(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    this.sendPools(request, reply, await this.pools.gatherReports());
  }

  @Put('config')
  @Needs(agentWrite)
  put(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.updatePools(request, reply);
  }

  @Post('config')
  @Needs(agentWrite)
  post(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.updatePools(request, reply);
  }

  private async updatePools(request: ApiRequest, reply: ApiReply): Promise<void> {
    const { num_schedulers, enabled_schedulers } = readPool(request.body);
    const enabledSchedulers = enabled_schedulers ?? [];
    if (!areSchedulers(enabledSchedulers)) throw badRequest('Invalid request');
    const instances = (await this.pools.gatherReports()).map(({ instance }) => instance);
    if (instances.length === 0) throw unavailable('no scheduler process answers');
    const workers = sharedOut(num_schedulers, instances);
    if (!workers) throw badRequest('Invalid request');
    const changed = await this.pools.updatePools({ workers, enabledSchedulers });
    const missing = instances.length - changed.length;
    if (missing > 0)
      throw unavailable(`${missing} of ${instances.length} scheduler processes did not answer; try again`);
    this.sendPools(request, reply, changed);
  }

  private sendPools(request: ApiRequest, reply: ApiReply, pools: readonly PoolReport[]): void {
    const enabled = new Set(pools.flatMap(({ enabledSchedulers }) => enabledSchedulers));
    sendJson(request, reply, {
      server_id: this.identity.memberName,
      num_schedulers: pools.reduce((sum, { workers }) => sum + workers.length, 0),
      enabled_schedulers: KNOWN_SCHEDULERS.filter((type) => enabled.has(type)),
    });
  }
}

/** Reads the body. Clients look for this text, whatever is wrong with the body (OP-87). @throws Refusal invalid */
function readPool(body: unknown): PoolRequest {
  try {
    return wire.decodeShape(POOL, readJsonBody(body));
  } catch (error) {
    if (error instanceof DecodeError || error instanceof Refusal) throw badRequest('Invalid request');
    throw error;
  }
}
