export { scheduler, schedulerService } from './scheduler.module.js';
export type { Attempt, AttemptInput } from './attempt.js';
export { dryRun, type DryRunChance } from './dry-run.js';
export { EvaluationRun, type EvaluationRunDeps, type Planner, type Snapshots } from './worker/evaluation-run.js';
export { occupyingLoads } from './plan-draft.js';
export { schedule, schedulerTypeFor, type SchedulerType } from './schedule.js';
export { Worker, type WorkerDeps } from './worker/worker.js';
