import { Controller, Get, Req, Res } from '@nestjs/common';
import { CallerWatches } from '../access/caller-watch.js';
import { Needs } from '../access/needs.decorator.js';
import { agentRead } from '../access/needs.js';
import { ReadModel } from '@waybill/projection';
import { processLog } from '@waybill/telemetry';
import { sendPieces } from '../client/frames.js';
import { ApiError, badRequest, notFound } from '../http/api-error.js';
import { boolParam, param, type QueryString } from '../http/query-string.js';
import type { ApiReply, ApiRequest } from '../http/reply.js';
import { AgentIdentity } from './agent-identity.js';
import { LogEndedError, type MonitorWish } from './log-monitor.js';
import { LogMonitors } from './log-monitors.js';
import { callUserOf } from '../access/call-user.js';

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error'] as const;

/**
 * The controller of `/v1/agent/monitor`: the log of this process or of a machine, as it is written (API-84, OP-82,
 * OP-83).
 */
@Controller('v1/agent/monitor')
export class MonitorController {
  constructor(
    private readonly monitors: LogMonitors,
    private readonly identity: AgentIdentity,
    private readonly model: ReadModel,
    private readonly watches: CallerWatches,
  ) {}

  @Get()
  @Needs(agentRead)
  async monitor(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const { query } = request;
    const wish = wishOf(query);
    const plain = logOption(query, 'plain', 'plain');
    this.refuseOthers(query);
    const node = param(query, 'node_id');
    const ended = new AbortController();
    const feed = node
      ? await this.monitors.feedOf(callUserOf(request.access.caller), await this.nodeId(node), wish, (why) =>
          ended.abort(new LogEndedError(why)),
        )
      : processLog;
    await this.watches.respond(request, reply, (until) => {
      const pieces = this.monitors.monitor(feed, wish).pieces(AbortSignal.any([until, ended.signal]));
      return sendPieces(reply, pieces, until, plain);
    });
  }

  /** @throws Refusal notFound, before the answer begins */
  private async nodeId(given: string): Promise<string> {
    const { row } = await this.model.node(given.toLowerCase());
    if (!row) throw notFound(`Unknown node ${given}`);
    return row.ID;
  }

  /** Checks the request and then refuses it, because a server stores no logs (OP-84). */
  @Get('export')
  @Needs(agentRead)
  stored(@Req() { query }: ApiRequest): never {
    const onDisk = boolParam(query, 'on_disk') ?? false;
    const unit = param(query, 'service_name');
    if (!unit && !onDisk) throw badRequest('Either -service-name or -on-disk must be set');
    if (unit && onDisk) throw badRequest('Cannot target journald and nomad log file simultaneously');
    if (onDisk && boolParam(query, 'follow')) throw badRequest('Cannot follow log file');
    throw new ApiError(501, 'logs go to standard output: ask whoever keeps that (journalctl, kubectl logs)');
  }

  /** @throws Refusal if the log of another server is requested, or two logs at once */
  private refuseOthers(query: QueryString): void {
    const [node, server] = [param(query, 'node_id'), param(query, 'server_id')];
    if (node && server) throw badRequest('Cannot target node and server simultaneously');
    if (server && ![this.identity.memberName, this.identity.instanceId, 'leader'].includes(server))
      throw badRequest(`unknown nomad server ${server}`);
  }
}

/** @throws Refusal invalid */
function wishOf(query: QueryString): MonitorWish {
  const given = param(query, 'log_level') || 'INFO';
  const level = LEVELS.find((one) => one === given.toLowerCase());
  if (!level) throw badRequest(`Unknown log level: ${given}`);
  logOption(query, 'log_include_location', 'log_include_location'); // lines carry no places in the code
  return { level, json: logOption(query, 'log_json', 'log json') };
}

function logOption(query: QueryString, name: string, shown: string): boolean {
  return boolParam(query, name, (text) => badRequest(`Unknown option for ${shown}: ${text}`)) ?? false;
}
