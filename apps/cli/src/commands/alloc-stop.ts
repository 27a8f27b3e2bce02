import type { Call, ServerCommand } from '../command-spec.js';
import { DETACH_FLAG, Display, VERBOSE_FLAG } from '../terminal/display.js';
import { EvaluationMonitor } from '../evaluations/evaluation-monitor.js';
import { failed } from '../failure.js';
import { readAllocation } from '../allocations/read-allocation.js';

export const command: ServerCommand = {
  usage: '<allocation>',
  description:
    'Stops an allocation. The scheduler migrates it: it places a new one if the job needs one. The command ' +
    'monitors that evaluation.\n\nNeeds the capability alloc-lifecycle; to watch, read-job.',
  flags: [
    DETACH_FLAG,
    { name: 'no-shutdown-delay', kind: 'switch', help: 'Ignore the shutdown delays of group and tasks.' },
    VERBOSE_FLAG,
  ],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <alloc-id>' },
  run,
};

/** Stops an allocation, reschedules it if its job is a batch job, and follows the evaluation (CL-441). */
async function run(call: Call): Promise<number> {
  const { api, alloc } = await readAllocation(call, call.args[0] ?? '', Display.of(call));
  const query = {
    no_shutdown_delay: call.flags.on('no-shutdown-delay') || undefined,
    // A batch job does not repeat finished work unless this is set.
    reschedule: alloc.Job?.Type === 'batch' || undefined,
  };
  const stopped = await api
    .put<{ readonly EvalID: string }>(`/v1/allocation/${alloc.ID}/stop`, null, query)
    .catch((error: unknown) => {
      throw failed('stopping allocation', error);
    });
  if (!call.flags.on('detach')) return new EvaluationMonitor({ ...call, api }).follow(stopped.value.EvalID);
  call.terminal.print(stopped.value.EvalID);
  return 0;
}
