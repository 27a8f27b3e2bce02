import type { SchedulerConfiguration } from '@waybill/model';

export const CONFIGURATION_PATH = '/v1/operator/scheduler/configuration';

/** Response of the API. */
export interface ConfigurationAnswer {
  readonly SchedulerConfig: SchedulerConfiguration;
}
