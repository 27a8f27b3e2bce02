export { DEFAULT_PACE, type HeartbeatPace } from './heartbeat-ttl.js';
export { nodes, nodesService } from './nodes.service.js';
