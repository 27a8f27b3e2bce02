import type { SchedulerConfiguration } from '@waybill/model';

export const CONFIGURATION_PATH = '/v1/operator/scheduler/configuration';

/** What the API answers. */
export interface ConfigurationAnswer {
  readonly SchedulerConfig: SchedulerConfiguration;
}
