import { NO_ARGUMENTS, type ServerCommand } from '../command-spec.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';
import { Display, VERBOSE_FLAG } from '../terminal/display.js';
import { failed } from '../failure.js';
import { scalingPolicyTable, type ScalingPolicyStub } from '../jobs/scaling-policy.js';

/** Lists the scaling policies, sorted by target (CL-861). */
export const command: ServerCommand = {
  usage: '',
  description: 'Lists the scaling policies, with the limits of groups and tasks.',
  flags: [
    { name: 'job', kind: 'text', value: 'id', help: 'Only of this job.' },
    { name: 'type', kind: 'text', value: 'type', help: 'Only types with this prefix.' },
    VERBOSE_FLAG,
    ...DATA_FLAGS,
  ],
  takes: NO_ARGUMENTS,
  run: async (call) => {
    const { api, flags, terminal } = call;
    const query = { job: flags.text('job'), type: flags.text('type') };
    const answer = await api.get<ScalingPolicyStub[]>('/v1/scaling/policies', query).catch((error: unknown) => {
      throw failed('listing scaling policies', error);
    });
    if (call.data) call.data(answer.exact);
    else if (answer.value.length === 0) terminal.print('No policies found');
    else terminal.print(scalingPolicyTable(answer.value, Display.of(call)));
    return 0;
  },
};
