import type { Msg, NatsConnection } from '@nats-io/transport-node';
import type { Figures, Metrics } from '@waybill/telemetry';

/** Where every service of the control plane answers with its figures. */
const SUBJECT = 'waybill.figures';
/** What is sent: the metrics that have a name in the contract. The rest is on each service's ops port. */
export const CONTRACT_PREFIX = 'waybill_nomad_';
/** Answers are waited for until none has come for this long, ms. */
const STALL_MS = 100;
/** And no longer than this altogether, ms: whoever has not answered by then is left out. */
const MAX_WAIT_MS = 1_000;

/** The figures of one service of one process. */
export interface ServiceFigures extends Figures {
  readonly service: string;
  readonly host: string;
}

/** Answers with the metrics of a service on a host. Costs nothing until somebody asks. @returns ends it */
export function offerFigures(nc: NatsConnection, metrics: Metrics, host: string): () => void {
  const answer = async (msg: Msg): Promise<void> => {
    const figures = await metrics.figures(CONTRACT_PREFIX);
    msg.respond(JSON.stringify({ service: metrics.service, host, ...figures } satisfies ServiceFigures));
  };
  const subscription = nc.subscribe(SUBJECT, { callback: (error, msg) => void (error ?? answer(msg).catch(() => {})) });
  return () => subscription.unsubscribe();
}

/** Of every service of the control plane that answers in time. Takes STALL_MS longer than the slowest of them. */
export async function gatherFigures(nc: NatsConnection): Promise<ServiceFigures[]> {
  const answers = await nc.requestMany(SUBJECT, '', { strategy: 'stall', stall: STALL_MS, maxWait: MAX_WAIT_MS });
  const gathered: ServiceFigures[] = [];
  for await (const msg of answers) if (msg.data.length > 0) gathered.push(msg.json<ServiceFigures>());
  return gathered;
}
