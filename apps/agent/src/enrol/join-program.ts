import { errorText } from '@waybill/model';
import { text } from 'node:stream/consumers';
import { newUuid } from '@waybill/service';
import { joinMachine } from './joined-machine.store.js';

/**
 * This program is the first step of `waybill agent join`. The data directory is its argument. The token comes on stdin,
 * where other users of the computer cannot see it. It prints the agent's start parameters as JSON.
 */
try {
  const token = (await text(process.stdin)).trim();
  const joined = await joinMachine(process.argv[2] ?? '', token === '' ? undefined : token, newUuid);
  process.stdout.write(`${JSON.stringify(joined)}\n`);
} catch (error) {
  process.stderr.write(`${errorText(error)}\n`);
  process.exitCode = 1;
}
