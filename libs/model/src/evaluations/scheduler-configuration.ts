export interface SchedulerConfiguration {
  SchedulerAlgorithm: 'binpack' | 'spread';
  PreemptionConfig: PreemptionConfig;
  MemoryOversubscriptionEnabled: boolean;
  RejectJobRegistration: boolean;
  PauseEvalBroker: boolean;
  /** 0 means 100; shown as stored. */
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

/** What a new cluster starts with. */
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
