import type { ServerCommand } from '../command-spec.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';
import { Display, VERBOSE_FLAG } from '../terminal/display.js';
import { volumeClaims, volumeClaimTable } from '../volumes/volume-claim-stub.js';

/** Lists the claims of task groups on host volumes (CL-713). */
export const command: ServerCommand = {
  usage: '[<claim>]',
  description: 'Lists the claims of task groups on sticky host volumes.\n\nNeeds the capability host-volume-read.',
  flags: [
    { name: 'job', kind: 'text', value: 'id', help: 'Only of this job.' },
    { name: 'group', kind: 'text', value: 'name', help: 'Only of this group.' },
    { name: 'volume-name', kind: 'text', value: 'name', help: 'Only on volumes with this name.' },
    VERBOSE_FLAG,
    ...DATA_FLAGS,
  ],
  takes: { min: 0, max: 1, otherwise: 'This command takes either no arguments or one: <id>' },
  async run(call) {
    const { args, data, flags, terminal } = call;
    const claims = await volumeClaims(call, {
      prefix: args[0],
      job_id: flags.text('job'),
      task_group: flags.text('group'),
      volume_name: flags.text('volume-name'),
    });
    if (data) data(claims.exact);
    else if (claims.value.length === 0) terminal.print('No task group host volume claims found');
    else terminal.print(volumeClaimTable(claims.value, Display.of(call)));
    return 0;
  },
};
