export { Agent, type AgentDependencies } from './agent.js';
export { agent } from './agent.service.js';
export type { Driver, ExitResult, TaskConfig, TaskHandle } from './drivers/driver.js';
export { MockDriver } from './drivers/mock-driver.js';
export { RawExecDriver } from './drivers/raw-exec/raw-exec-driver.js';
export { TaskOutputs } from './logs/task-output.js';
