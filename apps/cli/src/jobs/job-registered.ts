import type { PeriodicConfig } from '@waybill/model';
import type { Call } from '../command-spec.js';
import { EvaluationMonitor } from '../evaluations/evaluation-monitor.js';
import { causeOf } from '../failure.js';
import { nextLaunch } from './periodic-launch.js';

/** The members of a registered job that determine the output. */
export interface RegisteredJob {
  readonly periodic: PeriodicConfig | undefined;
  readonly parameterised: boolean;
  readonly multiregion: boolean;
  readonly evalId: string;
}

/**
 * Follows the evaluation, or prints that the job is registered and its next launch (CL-304, CL-334). Resolves with the
 * exit code. @param hint prints where to see more, before a monitor or at the end
 */
export async function afterRegistration(
  call: Call,
  job: RegisteredJob,
  successful: string,
  hint: (options: { readonly beforeMonitor: boolean }) => Promise<void> = async () => {},
): Promise<number> {
  const { flags, terminal } = call;
  const { periodic, parameterised, multiregion, evalId } = job;
  if (!flags.on('detach') && evalId !== '' && !periodic && !parameterised && !multiregion) {
    await hint({ beforeMonitor: true });
    return new EvaluationMonitor(call).follow(evalId);
  }
  terminal.print(successful);
  if (periodic && !parameterised) await printNextLaunch(call, periodic);
  else if (evalId !== '' && !parameterised) terminal.print(`Evaluation ID: ${evalId}`);
  await hint({ beforeMonitor: false });
  return 0;
}

/** @param periodic the block of the job file, whose missing members get their defaults only on the server */
async function printNextLaunch({ terminal, clock }: Call, periodic: PeriodicConfig): Promise<void> {
  const enabled: boolean | null | undefined = periodic.Enabled;
  if (enabled === false) return terminal.print('The job is not launched: its periodic block is not enabled.');
  try {
    const launch = await nextLaunch(periodic, clock.nowMs());
    if (launch !== undefined) terminal.print(`Approximate next launch time: ${launch}`);
  } catch (error) {
    terminal.error(`Error determining next launch time: ${causeOf(error)}`);
  }
}
