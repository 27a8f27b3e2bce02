import { Controller, Get, Req, Res } from '@nestjs/common';
import { processLog } from '@waybill/telemetry';
import { ApiCore } from '../api-core.js';
import { sendPieces } from '../client/frames.js';
import { ApiError, badRequest } from '../http/api-error.js';
import { boolParam, param, type QueryString } from '../http/query-string.js';
import { goneSignal } from '../http/reads.js';
import type { ApiReply, ApiRequest } from '../http/reply.js';
import { AgentIdentity } from './agent-identity.js';
import { LogMonitor, type MonitorWish } from './log-monitor.js';

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error'] as const;

/** `/v1/agent/monitor`: the log of this process as it is written (API-84, OP-82, OP-83). */
@Controller('v1/agent/monitor')
export class MonitorController {
  constructor(
    private readonly core: ApiCore,
    private readonly identity: AgentIdentity,
  ) {}

  @Get()
  async monitor(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const { query } = request;
    const wish = wishOf(query);
    const plain = option(query, 'plain', 'plain');
    this.refuseOthers(query);
    const { clock, timers } = this.core.context;
    const gone = goneSignal(reply);
    await sendPieces(reply, new LogMonitor(processLog, clock, timers, wish).pieces(gone), gone, plain);
  }

  /** OP-84: what is asked is looked at; nothing is stored here that could be handed out. */
  @Get('export')
  stored(@Req() { query }: ApiRequest): never {
    const onDisk = boolParam(query, 'on_disk', badRequest) ?? false;
    const unit = param(query, 'service_name');
    if (!unit && !onDisk) throw badRequest('Either -service-name or -on-disk must be set');
    if (unit && onDisk) throw badRequest('Cannot target journald and nomad log file simultaneously');
    if (onDisk && boolParam(query, 'follow', badRequest)) throw badRequest('Cannot follow log file');
    throw new ApiError(501, 'logs go to standard output: ask whoever keeps that (journalctl, kubectl logs)');
  }

  /** @throws ApiError the log of another process is asked for */
  private refuseOthers(query: QueryString): void {
    const [node, server] = [param(query, 'node_id'), param(query, 'server_id')];
    if (node && server) throw badRequest('Cannot target node and server simultaneously');
    if (node) throw new ApiError(501, 'the log of a node is not available yet; see docs/gaps.md');
    if (server && ![this.identity.memberName, this.identity.instanceId, 'leader'].includes(server))
      throw badRequest(`unknown nomad server ${server}`);
  }
}

/** @throws ApiError 400 */
function wishOf(query: QueryString): MonitorWish {
  const given = param(query, 'log_level') || 'INFO';
  const level = LEVELS.find((one) => one === given.toLowerCase());
  if (!level) throw badRequest(`Unknown log level: ${given}`);
  option(query, 'log_include_location', 'log_include_location'); // lines carry no places in the code
  return { level, json: option(query, 'log_json', 'log json') };
}

function option(query: QueryString, name: string, shown: string): boolean {
  return boolParam(query, name, (text) => badRequest(`Unknown option for ${shown}: ${text}`)) ?? false;
}
