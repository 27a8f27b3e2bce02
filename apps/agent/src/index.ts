export { Agent, type AgentDependencies } from './agent.js';
export { agentService } from './agent-service.js';
