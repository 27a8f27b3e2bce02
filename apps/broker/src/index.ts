export { broker, brokerService } from './broker.module.js';
export { BrokerController } from './broker.controller.js';
export { Broker, type BrokerDeps, type Dequeued } from './broker.js';
export { BlockedEvals } from './blocked/blocked-evals.js';
export type { EvalBrokerOptions } from './queue/delivery.js';
export { EvalBroker } from './queue/eval-broker.js';
export { PlanApplier, type PlanApplierDeps } from './plans/plan-applier.js';
export { PlanQueue } from './plans/plan-queue.js';
export { RejectionTracker, type RejectionTrackerOptions } from './plans/rejection-tracker.js';
