import type { SchedulerConfiguration } from '@waybill/model';
import { NO_ARGUMENTS, type ServerCommand } from '../command-spec.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';
import { failed } from '../failure.js';
import { CONFIGURATION_PATH, type ConfigurationAnswer } from '../operator/scheduler-configuration.js';
import { keyValues } from '../terminal/table.js';

/** Prints the scheduler configuration (OP-30, OP-31). */
export const command: ServerCommand = {
  usage: '',
  description:
    'Shows the scheduler configuration: the algorithm, which jobs may preempt others, and whether the broker is ' +
    'paused.\n\nNeeds the capability operator:read.',
  flags: [...DATA_FLAGS],
  takes: NO_ARGUMENTS,
  withoutNamespace: true,
  run: async (call) => {
    const { api, terminal } = call;
    const answer = await api.get<ConfigurationAnswer>(CONFIGURATION_PATH).catch((error: unknown) => {
      throw failed('querying scheduler configuration', error);
    });
    if (call.data) call.data(answer.exact);
    else terminal.print(configurationLines(answer.value.SchedulerConfig));
    return 0;
  },
};

function configurationLines(config: SchedulerConfiguration): string {
  const { PreemptionConfig: preemption } = config;
  return keyValues([
    ['Scheduler Algorithm', config.SchedulerAlgorithm],
    ['Memory Oversubscription', String(config.MemoryOversubscriptionEnabled)],
    ['Reject Job Registration', String(config.RejectJobRegistration)],
    ['Pause Eval Broker', String(config.PauseEvalBroker)],
    ['Preemption System Scheduler', String(preemption.SystemSchedulerEnabled)],
    ['Preemption Service Scheduler', String(preemption.ServiceSchedulerEnabled)],
    ['Preemption Batch Scheduler', String(preemption.BatchSchedulerEnabled)],
    ['Preemption SysBatch Scheduler', String(preemption.SysBatchSchedulerEnabled)],
    ['Node Limit For Feasibility Checks', String(config.NodeLimitForFeasibilityChecks)],
    ['Modify Index', String(config.ModifyIndex)],
  ]);
}
