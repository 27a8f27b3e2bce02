import { errorText } from '@waybill/model';
import { parseArgs } from 'node:util';
import { inviteMachine } from './invite-machine.js';

/**
 * `waybill agent invite` writes one line for the shell of the new machine to stdout, and notes for a person to stderr.
 */
const { values } = parseArgs({
  options: { 'data-dir': { type: 'string', default: '.waybill' }, advertise: { type: 'string' } },
});

try {
  const { nodeId, token, natsUrl, thisComputerOnly, isEncrypted } = await inviteMachine(
    values['data-dir'],
    values.advertise,
  );
  process.stderr.write(`Machine ${nodeId} may join, at ${natsUrl}. Run there, in a directory of its own:\n\n`);
  process.stdout.write(`waybill agent join -data-dir=waybill-machine ${token}\n`);
  process.stderr.write(
    '\nThe token is a secret: it holds the key of this machine. It is not kept here, so copy it now.\n' +
      (thisComputerOnly
        ? 'It works on this computer only: for others run npm start -- --nats-bind ADDRESS, and invite again.\n'
        : isEncrypted
          ? 'What goes over the network is encrypted, and the token holds what the machine believes it by.\n'
          : 'What goes over the network is not encrypted: start with --tls, or use a network that you trust (docs/tls.md).\n'),
  );
} catch (error) {
  process.stderr.write(`waybill agent invite: ${errorText(error)}\n`);
  process.exitCode = 1;
}
