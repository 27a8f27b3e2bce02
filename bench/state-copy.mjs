// A copy of the state in the benchmark's own process: what the log says, from outside.
import { Infrastructure, readSettings } from '@waybill/service';
import { silentLogger } from '@waybill/telemetry';

/** @param {import('./harness.mjs').Bench} ctx @param {string} natsUrl */
export async function stateOf(ctx, natsUrl) {
  const settings = readSettings({ WAYBILL_NATS_URL: natsUrl, WAYBILL_LOG_LEVEL: 'silent' }, []);
  const infrastructure = new Infrastructure({
    processName: 'bench',
    settings,
    logger: silentLogger,
    onFatal: (error) => {
      throw error;
    },
  });
  ctx.onEnd(() => infrastructure.close());
  return infrastructure.replica();
}
