import type { Msg, NatsConnection } from '@nats-io/transport-node';
import type { Figures, Metrics } from '@waybill/telemetry';

/** Subject on which every service of the control plane answers with its metrics. */
const SUBJECT = 'waybill.figures';
/**
 * Prefix of the metrics that are sent, which have a name in the contract. All others are on each service's ops port.
 */
export const CONTRACT_PREFIX = 'waybill_nomad_';
/** Responses are awaited until none has arrived for this time, in ms. */
const STALL_MS = 100;
/** Longest total wait in ms. Later responses are ignored. */
const MAX_WAIT_MS = 1_000;

/** The metrics of one service in one process. */
export interface ServiceFigures extends Figures {
  readonly service: string;
  readonly host: string;
}

/**
 * Answers with the metrics of a service on a host. Costs nothing without requests. @returns a function that stops
 * answering
 */
export function offerFigures(nc: NatsConnection, metrics: Metrics, host: string): () => void {
  const answer = async (msg: Msg): Promise<void> => {
    const figures = await metrics.figures(CONTRACT_PREFIX);
    msg.respond(JSON.stringify({ service: metrics.service, host, ...figures } satisfies ServiceFigures));
  };
  const subscription = nc.subscribe(SUBJECT, { callback: (error, msg) => void (error ?? answer(msg).catch(() => {})) });
  return () => subscription.unsubscribe();
}

/**
 * Returns the metrics of every service of the control plane that answers in time. Takes STALL_MS longer than the
 * slowest response.
 */
export async function gatherFigures(nc: NatsConnection): Promise<ServiceFigures[]> {
  const answers = await nc.requestMany(SUBJECT, '', { strategy: 'stall', stall: STALL_MS, maxWait: MAX_WAIT_MS });
  const gathered: ServiceFigures[] = [];
  for await (const msg of answers) if (msg.data.length > 0) gathered.push(msg.json<ServiceFigures>());
  return gathered;
}
