import {
  heartbeat,
  nodeAllocs,
  registerNode,
  type RpcServerOptions,
  updateAllocs,
  updateNodeDrain,
} from '@waybill/rpc';
import type { Metrics } from '@waybill/telemetry';

/** Calls whose durations dashboards show, with their names there (OP-104). Calls for users are timed at the API. */
const TIMED: ReadonlyMap<string, string> = new Map([
  [registerNode.name, 'client.register'],
  [heartbeat.name, 'client.update_status'],
  [updateAllocs.name, 'client.update_alloc'],
  [nodeAllocs.name, 'client.get_client_allocs'],
  [updateNodeDrain.name, 'client.update_drain'],
]);

const MS_PER_S = 1_000;

/** Counts the calls of machines and services that a service answers (OP-104). */
export function callMeter(metrics: Metrics): NonNullable<RpcServerOptions['onAnswer']> {
  const requests = metrics.counter('nomad_rpc_request', 'calls answered');
  const refused = metrics.counter('nomad_rpc_request_error', 'calls answered with an error');
  return (call, isRefused, tookMs) => {
    requests.inc();
    if (isRefused) refused.inc();
    const timed = TIMED.get(call);
    if (timed !== undefined)
      metrics.histogram(`nomad_${timed.replaceAll('.', '_')}`, `nomad.${timed}`).observe(tookMs / MS_PER_S);
  };
}
