import { type Call, type ServerCommand } from '../command-spec.js';
import { CommandFailure, failed } from '../failure.js';

/** A command that only the commercial edition of the reference has: the server is asked, and says so (CL-936). */
export const enterpriseCommand = (path: string): ServerCommand => ({
  usage: '[<argument>…]',
  description: 'Is not offered: only the commercial edition of Nomad has it. Prints what the server says.',
  flags: [],
  takes: { min: 0, max: Number.POSITIVE_INFINITY, otherwise: '' },
  run: (call) => refused(call, path),
});

/** @throws CommandFailure always */
async function refused({ api }: Call, path: string): Promise<number> {
  await api.get(path).catch((error: unknown) => {
    throw failed('querying the server', error);
  });
  throw new CommandFailure('Nomad Enterprise only endpoint');
}
