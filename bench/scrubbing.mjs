// One pass of the scrubber over a log, or as much of it as there is time for: `node scrubbing.mjs NATS POSTGRES MB_PER_SECOND`.
import { connect, RawLog } from '@waybill/journal';
import { LogHashes, openPool } from '@waybill/projection';
import { Scrubber } from '@waybill/projector';
import { monotonicClock, termOf } from '@waybill/roles';
import { systemClock, systemTimers } from '@waybill/service';
import { createLogger } from '@waybill/telemetry';

const LOOK_MS = 20;
const MB = 1_000_000;
const NEVER_MS = 86_400_000;

const [natsUrl = '', databaseUrl = '', rate = '1'] = process.argv.slice(2);
const link = await connect({ url: natsUrl, name: 'scrubbing' });
const pool = openPool(databaseUrl);
await pool.query('truncate log_hashes; update log_scrub set next = 1, pass = 0, ended_at_ms = 0');
const hashes = new LogHashes(pool);
// There is no projector: all that is in the log counts.
hashes.appliedIndex = () => Promise.resolve(Number.MAX_SAFE_INTEGER);
const scrubber = new Scrubber({
  log: new RawLog(link),
  memory: hashes,
  bytesPerSecond: Number(rate) * MB,
  intervalMs: NEVER_MS,
  isSameLog: () => Promise.resolve(true),
  clock: systemClock,
  monotonic: monotonicClock,
  timers: systemTimers,
  logger: createLogger('scrubbing', 'warn'),
});
let told = false;
process.once('SIGTERM', () => (told = true));
scrubber.start(termOf('projector', 1));
process.stdout.write('reading\n');
while (!told && scrubber.stats().scrubPasses === 0) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
await scrubber.stop();
await pool.end();
await link.close();
