import type { Clock, Timers } from '@waybill/model';
import type { Rpc } from '@waybill/rpc';
import type { Logger, Tracer } from '@waybill/telemetry';

/** AgentRuntime is an agent's environment in its process, on a machine or in a simulated fleet. */
export interface AgentRuntime {
  readonly rpc: Rpc;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly newId: () => string;
  /** Returns a number in [0, 1). */
  readonly random: () => number;
  readonly logger: Logger;
  readonly tracer: () => Tracer;
  readonly region: string;
}
