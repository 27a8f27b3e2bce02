import type { Shown } from '@waybill/telemetry';
import { call } from './call.js';

/** Longer than a machine takes at most, ms; whoever scrapes waits for it. */
const TIMEOUT_MS = 3_000;

/** What a machine shows at its own `/v1/metrics`, unfiltered: asked by the API beside it. The target is the node's id. */
export const readMachineMetrics = call<Record<string, never>, Shown>('agent.readMachineMetrics', {
  timeoutMs: TIMEOUT_MS,
});
