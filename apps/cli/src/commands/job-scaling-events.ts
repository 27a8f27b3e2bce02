import type { ServerCommand } from '../command-spec.js';
import { Display, VERBOSE_FLAG } from '../terminal/display.js';
import { resolveJob } from '../jobs/resolve-job.js';
import { readScaleStatus } from '../jobs/scale-status.js';
import { table } from '../terminal/table.js';
import { absoluteTime } from '../terminal/times.js';

/** Lists scaling events of a job, newest first (CL-359). */
export const command: ServerCommand = {
  usage: '<job>',
  description: 'Lists the latest scaling events of a job, newest first.\n\nNeeds the capability read-job.',
  flags: [VERBOSE_FLAG],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <job>' },
  run: async (call) => {
    const { args, flags, terminal } = call;
    const found = await resolveJob(call.api, args[0] ?? '');
    const { TaskGroups } = await readScaleStatus(call.api.within({ namespace: found.namespace }), found.id);
    const events = Object.entries(TaskGroups ?? {}).flatMap(([group, { Events }]) =>
      (Events ?? []).map((event) => ({ group, ...event })),
    );
    if (events.length === 0) {
      terminal.print('No events found');
      return 0;
    }
    const display = Display.of(call);
    const more = <T>(cells: T[]): T[] => (flags.on('verbose') ? cells : []);
    const rows = events
      .toSorted((a, b) => b.Time - a.Time)
      .map((event) => [
        event.group,
        event.Count === null ? '' : String(event.Count),
        String(event.PreviousCount),
        ...more([String(event.Error), event.Message, display.id(event.EvalID ?? '')]),
        absoluteTime(event.Time),
      ]);
    terminal.print(
      table([['Task Group', 'Count', 'PrevCount', ...more(['Error', 'Message', 'Eval ID']), 'Date'], ...rows]),
    );
    return 0;
  },
};
