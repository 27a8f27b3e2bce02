import { NO_ARGUMENTS, type ServerCommand } from '../command-spec.js';
import { type ExactJson, membersOf } from '../terminal/exact-json.js';
import { CommandFailure, failed } from '../failure.js';
import type { Flag } from '../flags/flag.js';
import type { ParsedFlags } from '../flags/parsed-flags.js';
import { CONFIGURATION_PATH, type ConfigurationAnswer } from '../operator/scheduler-configuration.js';

/** Members of the configuration that switches set. */
const SWITCHES = {
  'memory-oversubscription': 'MemoryOversubscriptionEnabled',
  'reject-job-registration': 'RejectJobRegistration',
  'pause-eval-broker': 'PauseEvalBroker',
} as const;
const PREEMPTION_SWITCHES = {
  'preempt-batch-scheduler': 'BatchSchedulerEnabled',
  'preempt-service-scheduler': 'ServiceSchedulerEnabled',
  'preempt-sysbatch-scheduler': 'SysBatchSchedulerEnabled',
  'preempt-system-scheduler': 'SystemSchedulerEnabled',
} as const;

const preempts = (type: string): Flag => ({
  name: `preempt-${type}-scheduler`,
  kind: 'switch',
  help: `Whether ${type} jobs may preempt jobs of lower priority: =true or =false.`,
});

/**
 * Merges the given flags into the stored configuration and writes it only if the stored index is unchanged (OP-32 to
 * OP-35).
 */
export const command: ServerCommand = {
  usage: '',
  description:
    'Changes the scheduler configuration. Settings without a flag stay. Nothing is written if another user ' +
    'changes it at the same time.\n\nNeeds the capability operator:write.',
  flags: [
    { name: 'check-index', kind: 'text', value: 'n', help: 'Write only if get-config shows this Modify Index.' },
    {
      name: 'memory-oversubscription',
      kind: 'switch',
      help: 'Whether tasks may use more memory than they reserve, up to their maximum: =true or =false.',
    },
    {
      name: 'node-limit-for-feasibility-checks',
      kind: 'integer',
      value: 'n',
      help: 'Feasible nodes compared for a placement with spreads or affinities; 0 means 100.',
    },
    {
      name: 'pause-eval-broker',
      kind: 'switch',
      help: 'Whether evaluations wait instead of being scheduled: =true or =false. Jobs go on running and can be registered.',
    },
    preempts('batch'),
    preempts('service'),
    preempts('sysbatch'),
    preempts('system'),
    {
      name: 'reject-job-registration',
      kind: 'switch',
      help: 'Whether jobs can neither be registered, dispatched nor scaled: =true or =false.',
    },
    { name: 'scheduler-algorithm', kind: 'text', value: 'binpack|spread', help: 'Algorithm that chooses machines.' },
  ],
  takes: NO_ARGUMENTS,
  withoutNamespace: true,
  run: async ({ api, flags, terminal }) => {
    const checkIndex = checkIndexOf(flags.text('check-index'));
    const stored = await api.get<ConfigurationAnswer>(CONFIGURATION_PATH).catch((error: unknown) => {
      throw failed('querying for scheduler configuration', error);
    });
    const { ModifyIndex } = stored.value.SchedulerConfig;
    if (checkIndex > 0 && checkIndex !== ModifyIndex)
      throw new CommandFailure(
        `Error performing check index set: check-index ${checkIndex} does not match does not match current state value ${ModifyIndex}`,
      );
    const config = merged(membersOf(membersOf(stored.exact)['SchedulerConfig']), flags);
    const { value } = await api
      .put<{ readonly Updated: boolean }>(CONFIGURATION_PATH, config, { cas: ModifyIndex })
      .catch((error: unknown) => {
        throw failed('setting scheduler configuration', error);
      });
    terminal.print(
      value.Updated
        ? 'Scheduler configuration updated!'
        : 'Scheduler configuration could not be atomically updated, please try again',
    );
    return value.Updated ? 0 : 1;
  },
};

/** Parses the index to check. 0 if none is requested. @throws CommandFailure (OP-34) */
function checkIndexOf(text: string | undefined): number {
  if (text === undefined) return 0;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new CommandFailure(`Error parsing check-index value "${text}": not a whole number`);
}

/**
 * Merges the flags into the stored configuration. Other members stay, including those that this program does not know
 * (OP-33).
 */
function merged(stored: { [member: string]: ExactJson }, flags: ParsedFlags): { [member: string]: ExactJson } {
  const config = { ...stored };
  const preemption = { ...membersOf(stored['PreemptionConfig']) };
  for (const [flag, member] of Object.entries(SWITCHES)) if (flags.given(flag)) config[member] = flags.on(flag);
  for (const [flag, member] of Object.entries(PREEMPTION_SWITCHES))
    if (flags.given(flag)) preemption[member] = flags.on(flag);
  const algorithm = flags.text('scheduler-algorithm');
  if (algorithm !== undefined) config['SchedulerAlgorithm'] = algorithm;
  const limit = flags.integer('node-limit-for-feasibility-checks');
  if (limit !== undefined) config['NodeLimitForFeasibilityChecks'] = limit;
  return { ...config, PreemptionConfig: preemption };
}
