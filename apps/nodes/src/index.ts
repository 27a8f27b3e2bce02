export { DEFAULT_PACE, type HeartbeatPace } from './heartbeat-ttl.js';
export { nodesService } from './nodes-service.js';
