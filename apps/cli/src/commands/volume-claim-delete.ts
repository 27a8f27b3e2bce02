import type { TaskGroupHostVolumeClaim } from '@waybill/model';
import type { Call, ServerCommand } from '../command-spec.js';
import { Display } from '../terminal/display.js';
import { causeOf, CommandFailure, failed } from '../failure.js';
import { volumeClaims, volumeClaimTable } from '../volumes/volume-claim-stub.js';

/** Deletes a claim on a host volume, after a confirmation or with `-y` (CL-713). */
export const command: ServerCommand = {
  usage: '<claim>',
  description:
    'Deletes the claim of a group on a host volume, so that replacements of its allocations may run ' +
    'elsewhere.\n\nNeeds the capability host-volume-delete.',
  flags: [{ name: 'y', kind: 'switch', help: 'Do not ask.' }],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <claim id>' },
  async run(call) {
    const { ID, Namespace } = await claimMeant(call, call.args[0] ?? '');
    if (!call.flags.on('y') && !(await isConfirmed(call, ID))) return 0;
    await call.api
      .within({ namespace: Namespace })
      .delete(`/v1/volumes/claim/${encodeURIComponent(ID)}`)
      .catch((error: unknown) => {
        throw failed('deleting claim', error);
      });
    call.terminal.print(`Task group host volume claim ${ID} successfully deleted`);
    return 0;
  },
};

async function claimMeant(call: Call, prefix: string): Promise<TaskGroupHostVolumeClaim> {
  const { value: found } = await volumeClaims(call, { prefix });
  const claim = found.find(({ ID }) => ID === prefix) ?? found[0];
  if (!claim) throw new CommandFailure(`No claim(s) with prefix "${prefix}" found`);
  if (found.length > 1 && claim.ID !== prefix)
    throw new CommandFailure(`Prefix matched multiple claims\n\n${volumeClaimTable(found, Display.of(call))}`);
  return claim;
}

/** Asks with `[Y/n]`. @throws CommandFailure if there is no user to ask */
async function isConfirmed(call: Call, id: string): Promise<boolean> {
  if (!call.canAsk) throw new CommandFailure('This command requires -y option when running in non-interactive mode');
  call.terminal.warn('What the group has written there may be lost to it.');
  const question = `Are you sure you want to delete task group host volume claim ${id}? [Y/n] `;
  const answer = await call.ask(question).catch((error: unknown) => {
    throw new CommandFailure(`Failed to parse answer: ${causeOf(error)}`);
  });
  return answer === '' || /^y(es)?$/i.test(answer);
}
