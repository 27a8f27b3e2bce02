export * from './arguments.js';
export {
  CONTROLLER_CAPABILITIES,
  type ControllerCapability,
  NODE_CAPABILITIES,
  type NodeCapability,
  PLUGIN_CAPABILITIES,
  type PluginCapability,
} from './capabilities.js';
export type { ListedVolume, Paged, ProvidedSnapshot, ProvidedVolume, Validation } from './controller-answers.js';
export type * from './controller-requests.js';
export { ControllerClient } from './controller.js';
export { CsiAnswerError, CsiArgumentError, CsiError, RETRYABLE, RETRYABLE_PREFIX } from './errors.js';
export { IdentityClient, INFO_TIMEOUT_MS, type PluginInfo, PROBE_TIMEOUT_MS } from './identity.js';
export type { ExpandOnNode, MountedVolume, PublishVolume, StageVolume } from './node-requests.js';
export { NodeClient, type NodeInfo } from './node.js';
export { type CsiPlugin, PluginClient } from './plugin-client.js';
export { CALL_TIMEOUT_MS, type CallOptions, DIAL_TIMEOUT_MS, MAX_TRIES } from './plugin-connection.js';
export { CSI_SERVICES, csiService, type CsiService } from './schema.js';
export { checkedSocketPath, MAX_SOCKET_PATH_BYTES, SocketPathTooLongError } from './socket-path.js';
export type { VolumeUse } from './volume-capability.js';
