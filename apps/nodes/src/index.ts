export { DrainCommands } from './drain-commands.js';
export { Drainer, type DrainerDependencies } from './drainer.js';
export { DEFAULT_PACE, type HeartbeatPace } from './heartbeat-ttl.js';
export { NodeEvaluations } from './node-evaluations.js';
export { nodes, nodesService } from './nodes.service.js';
