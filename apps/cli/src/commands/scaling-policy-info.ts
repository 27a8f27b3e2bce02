import type { ScalingPolicy } from '@waybill/model';
import type { ServerCommand } from '../command-spec.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';
import { Display, VERBOSE_FLAG } from '../terminal/display.js';
import { failed } from '../failure.js';
import { resolveUuid, SCALING_POLICY } from '../server/resolve-uuid.js';
import { scalingPolicyInFull } from '../jobs/scaling-policy.js';

/** Shows a scaling policy (CL-861). */
export const command: ServerCommand = {
  usage: '<policy>',
  description: 'Shows a scaling policy.',
  flags: [VERBOSE_FLAG, ...DATA_FLAGS],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <policy_id>' },
  run: async (call) => {
    const { api, args, terminal } = call;
    const display = Display.of(call);
    const { ID } = await resolveUuid(api, SCALING_POLICY, args[0] ?? '', display);
    const answer = await api.get<ScalingPolicy>(`/v1/scaling/policy/${ID}`).catch((error: unknown) => {
      throw failed('querying scaling policy', error);
    });
    if (call.data) call.data(answer.exact);
    else terminal.print(scalingPolicyInFull(answer.value, display));
    return 0;
  },
};
