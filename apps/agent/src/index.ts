export { Agent, type AgentDependencies } from './agent.js';
export { agent } from './agent-service.js';
