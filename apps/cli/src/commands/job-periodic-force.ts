import type { ServerCommand } from '../command-spec.js';
import { DETACH_FLAG, VERBOSE_FLAG } from '../terminal/display.js';
import { EvaluationMonitor } from '../evaluations/evaluation-monitor.js';
import { failed } from '../failure.js';
import { jobPath, PERIODIC, resolveJob } from '../jobs/resolve-job.js';

/** Launches a periodic job now and follows the evaluation (CL-342). */
export const command: ServerCommand = {
  usage: '<periodic job>',
  description:
    'Launches a periodic job now, in addition to its schedule, and watches the evaluation.\n\nNeeds the capability ' +
    'submit-job; to watch, read-job.',
  flags: [DETACH_FLAG, VERBOSE_FLAG],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <job>' },
  async run(call) {
    const { args, flags, terminal } = call;
    const found = await resolveJob(call.api, args[0] ?? '', PERIODIC);
    const api = call.api.within({ namespace: found.namespace });
    const { value } = await api
      .put<{ readonly EvalID: string }>(jobPath(found.id, '/periodic/force'), null)
      .catch((error: unknown) => {
        throw failed(`forcing periodic job "${found.id}"`, error);
      });
    if (!flags.on('detach') && value.EvalID !== '') return new EvaluationMonitor({ ...call, api }).follow(value.EvalID);
    terminal.print('Force periodic successful');
    if (value.EvalID !== '') terminal.print(`Evaluation ID: ${value.EvalID}`);
    return 0;
  },
};
