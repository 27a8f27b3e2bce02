import type { ServerCommand } from '../command-spec.js';
import { DETACH_FLAG, Display, VERBOSE_FLAG } from '../terminal/display.js';
import { EvaluationMonitor } from '../evaluations/evaluation-monitor.js';
import { failed } from '../failure.js';
import { jobPath, resolveJob } from '../jobs/resolve-job.js';

/** Creates an evaluation of a job and follows it (CL-338). */
export const command: ServerCommand = {
  usage: '<job>',
  description:
    'Evaluates a job again, as if it had just been registered, and watches the evaluation.\n\nNeeds the capability ' +
    'read-job; with -force-reschedule, submit-job.',
  flags: [
    DETACH_FLAG,
    {
      name: 'force-reschedule',
      kind: 'switch',
      help: 'Reschedule failed allocations now, even before their delay has passed.',
    },
    VERBOSE_FLAG,
  ],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <job>' },
  run: async (call) => {
    const { flags, terminal, args } = call;
    const found = await resolveJob(call.api, args[0] ?? '');
    const api = call.api.within({ namespace: found.namespace });
    const body = { JobID: found.id, EvalOptions: { ForceReschedule: flags.on('force-reschedule') } };
    const { value } = await api
      .put<{ readonly EvalID: string }>(jobPath(found.id, '/evaluate'), body)
      .catch((error: unknown) => {
        throw failed('evaluating job', error);
      });
    if (!flags.on('detach')) return new EvaluationMonitor({ ...call, api }).follow(value.EvalID);
    terminal.print(`Created eval ID: "${Display.of(call).id(value.EvalID)}" `);
    return 0;
  },
};
