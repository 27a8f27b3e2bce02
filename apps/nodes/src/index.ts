export { DrainCommands } from './drain/drain-commands.js';
export { Drainer, type DrainerDependencies } from './drain/drainer.js';
export { DEFAULT_PACE, type HeartbeatPace } from './heartbeats/heartbeat-ttl.js';
export { NodeEvaluations } from './node/node-evaluations.js';
export { nodesWriter } from './node/nodes-writer.js';
export { nodes, nodesService } from './nodes.service.js';
export { AllocQueries } from './allocations/alloc-queries.js';
export { PreviousDisks } from './allocations/previous-disks.js';
export { TokenReviewError, TokenReviews } from './introductions/token-review.transport.js';
