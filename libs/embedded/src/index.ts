export * from './failures.js';
export {
  natsServerPath,
  natsServerProgram,
  type NatsServerOptions,
  type NatsServerProgram,
} from './nats-server-binary.js';
export { changeNatsAccounts, startNats, type NatsOptions, type RunningServer } from './nats-server.js';
export { type Listening, type NatsAccounts, reachedAt, urlHost } from './nats-config.js';
export type { ServerTls } from './server-tls.js';
export { startPostgres, type PostgresOptions } from './postgres-server.js';
export { startStack, type Stack, type StackOptions } from './test-stack.js';
export {
  embeddedDataPaths,
  openDataDirectory,
  wipe,
  type DataDirectory,
  type EmbeddedDataPaths,
  type OpenOptions,
} from './data-directory.js';
export { beginServerLog } from './server-log.js';
export { assertPortFree, freePort } from './tcp-port.js';
export { SupervisedServer, type ServerSpec, type UnexpectedExit } from './supervised-server.js';
