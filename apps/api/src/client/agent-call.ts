import { type Allocation, findTaskGroup, MAX_TIMER_MS, msFromNs, type Refusal } from '@waybill/model';
import { type AskOptions, type Call, RpcUnavailableError, type UserRpc } from '@waybill/rpc';
import { notFound, serverFailure } from '../http/api-error.js';

/**
 * The time in milliseconds that an agent may add to the delays which a job requests: its largest kill timeout,
 * processes that end slowly, and its own work.
 */
const STOP_MARGIN_MS = 60_000;
/** The number of steps of a stop: an agent stops the leader, then the other tasks, then the sidecars (AG-150). */
const STOP_WAVES = 3;

export interface AskAgentOptions extends AskOptions {
  /** The ID of the node. */
  readonly target: string;
}

/**
 * Calls the agent of a node. @throws Refusal not-found if the agent cannot be reached; the refusals of the agent
 * (API-194)
 */
export async function askAgent<Req, Res>(
  rpc: UserRpc,
  call: Call<Req, Res>,
  request: Req,
  options: AskAgentOptions,
): Promise<Res> {
  try {
    return await rpc.ask(call, request, options);
  } catch (error) {
    throw error instanceof RpcUnavailableError ? unreachable(error, options.target) : error;
  }
}

/** Returns the longest time in milliseconds that stopping the tasks of an allocation may take (JR-959). */
export function restartTimeoutMs(alloc: Allocation): number {
  const group = alloc.Job ? findTaskGroup(alloc.Job, alloc.TaskGroup) : undefined;
  const killNs = Math.max(0, ...(group?.Tasks ?? []).map((task) => task.KillTimeout));
  return Math.min(msFromNs((group?.ShutdownDelay ?? 0) + STOP_WAVES * killNs) + STOP_MARGIN_MS, MAX_TIMER_MS);
}

/**
 * Returns the refusal of a call that failed. A slow agent differs from a missing one: it may still carry out the
 * request.
 */
const unreachable = ({ reason }: RpcUnavailableError, node: string): Refusal =>
  reason === 'timeout'
    ? serverFailure(`node ${node} has not answered in time`)
    : notFound(
        `No path to node: ${node} does not answer. Its agent is down, or connects with the key of another machine: ` +
          'every machine needs its own, see docs/machines.md and "waybill agent invite"',
      );
