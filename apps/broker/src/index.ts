export { broker, brokerService } from './broker.module.js';
export { BrokerController } from './broker.controller.js';
export { Broker, type BrokerDeps, type Dequeued } from './broker.js';
export { BlockedEvals } from './blocked-evals.js';
export type { EvalBrokerOptions } from './delivery.js';
export { EvalBroker } from './eval-broker.js';
export { PlanApplier, type PlanApplierDeps } from './plan-applier.js';
export { PlanQueue } from './plan-queue.js';
export { RejectionTracker, type RejectionTrackerOptions } from './rejection-tracker.js';
