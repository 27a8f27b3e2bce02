import { errorText } from '@waybill/model';
import { text } from 'node:stream/consumers';
import { newUuid } from '@waybill/service';
import { joinMachine } from './joined-machine.store.js';

/**
 * The first step of `waybill agent join`: the data directory is the argument, the token comes on stdin, where no other
 * user of the computer sees it. Prints how the agent is to be started, as JSON.
 */
try {
  const token = (await text(process.stdin)).trim();
  const joined = await joinMachine(process.argv[2] ?? '', token === '' ? undefined : token, newUuid);
  process.stdout.write(`${JSON.stringify(joined)}\n`);
} catch (error) {
  process.stderr.write(`${errorText(error)}\n`);
  process.exitCode = 1;
}
