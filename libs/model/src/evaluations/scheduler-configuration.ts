export interface SchedulerConfiguration {
  SchedulerAlgorithm: 'binpack' | 'spread';
  PreemptionConfig: PreemptionConfig;
  MemoryOversubscriptionEnabled: boolean;
  RejectJobRegistration: boolean;
  PauseEvalBroker: boolean;
  /** 0 stands for 100 and is shown as 0. */
  NodeLimitForFeasibilityChecks: number;
  CreateIndex: number;
  ModifyIndex: number;
}

export interface PreemptionConfig {
  SystemSchedulerEnabled: boolean;
  SysBatchSchedulerEnabled: boolean;
  BatchSchedulerEnabled: boolean;
  ServiceSchedulerEnabled: boolean;
}

/** Returns the configuration of a new cluster. */
export function defaultSchedulerConfiguration(): SchedulerConfiguration {
  return {
    SchedulerAlgorithm: 'binpack',
    PreemptionConfig: {
      SystemSchedulerEnabled: true,
      SysBatchSchedulerEnabled: false,
      BatchSchedulerEnabled: false,
      ServiceSchedulerEnabled: false,
    },
    MemoryOversubscriptionEnabled: false,
    RejectJobRegistration: false,
    PauseEvalBroker: false,
    NodeLimitForFeasibilityChecks: 0,
    CreateIndex: 0,
    ModifyIndex: 0,
  };
}
