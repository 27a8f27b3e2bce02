import { type Allocation, findTaskGroup, MAX_TIMER_MS, msFromNs } from '@waybill/model';
import { type AskOptions, type Call, type Rpc, RpcError, RpcUnavailableError } from '@waybill/rpc';
import { ApiError, failed, notFound } from '../http/api-error.js';

/** What an agent may add to the delays a job asks for: its largest kill timeout, processes that vanish slowly, itself. */
const STOP_MARGIN_MS = 60_000;
/** AG-150: the leader, the others and the sidecars are stopped one after the other. */
const STOP_WAVES = 3;

export interface AskAgentOptions extends AskOptions {
  /** The node's id. */
  readonly target: string;
  /** The status of what the agent refuses, where it is not as API-194 says. */
  readonly statusOf?: (error: RpcError) => number | undefined;
}

/** Asks the agent of a node. @throws ApiError 404 when there is no way to it, what it refuses as API-194 says */
export async function askAgent<Req, Res>(
  rpc: Rpc,
  call: Call<Req, Res>,
  request: Req,
  options: AskAgentOptions,
): Promise<Res> {
  try {
    return await rpc.ask(call, request, options);
  } catch (error) {
    if (error instanceof RpcUnavailableError) throw unreachable(error, options.target);
    if (error instanceof RpcError)
      throw new ApiError(options.statusOf?.(error) ?? (isMissing(error) ? 404 : 500), error.message);
    throw failed(error instanceof Error ? error.message : String(error));
  }
}

/** JR-959: how long the tasks of an allocation may take to be put down, ms. */
export function restartTimeoutMs(alloc: Allocation): number {
  const group = alloc.Job ? findTaskGroup(alloc.Job, alloc.TaskGroup) : undefined;
  const killNs = Math.max(0, ...(group?.Tasks ?? []).map((task) => task.KillTimeout));
  return Math.min(msFromNs((group?.ShutdownDelay ?? 0) + STOP_WAVES * killNs) + STOP_MARGIN_MS, MAX_TIMER_MS);
}

/** An agent that is there but slow is not one that is missing: what was asked of it may still happen. */
const unreachable = ({ reason }: RpcUnavailableError, node: string): ApiError =>
  reason === 'timeout'
    ? failed(`node ${node} has not answered in time`)
    : notFound(
        `No path to node: ${node} does not answer. Its agent is down, or connects with the key of another machine: ` +
          'every machine needs its own, see docs/machines.md and "waybill agent invite"',
      );

/** API-194. */
const isMissing = (error: RpcError): boolean =>
  error.code === 'not-found' || /Unknown allocation|No path to node|Unknown node/.test(error.message);
