import type { Shown } from '@waybill/telemetry';
import { call } from './call.js';

/** Longer than a machine takes, in ms. The scraper waits for it. */
const TIMEOUT_MS = 3_000;

/** Returns the unfiltered metrics of a machine's own `/v1/metrics`, for an API. The target is the node's ID. */
export const readMachineMetrics = call<Record<string, never>, Shown>('agent.readMachineMetrics', {
  timeoutMs: TIMEOUT_MS,
});
