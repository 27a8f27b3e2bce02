export { Agent, type AgentDependencies } from './agent.js';
export { agent } from './agent.service.js';
export type { AllocDirectories } from './alloc-directories.js';
export type { AllocRecord, AllocRecords } from './alloc-record.js';
export { type Driver, type ExitResult, type TaskConfig, type TaskHandle, TaskNotFoundError } from './drivers/driver.js';
export { MockDriver } from './drivers/mock-driver.js';
export { RawExecDriver } from './drivers/raw-exec/raw-exec-driver.js';
export { TaskOutputs } from './logs/task-output.js';
