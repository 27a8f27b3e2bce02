export * from './agent.js';
export * from './broker.js';
export * from './call.js';
export * from './client.js';
export * from './nodes.js';
export * from './server.js';
export * from './deployments.js';
export * from './scheduler.js';
