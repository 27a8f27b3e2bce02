export { API_VERSIONS, ApiVersionError, commonApiVersion, compareVersions } from './api-version.js';
export { attributeFault, attributeText } from './attribute.js';
export { BaseClient, type PluginInfo, type PluginKind } from './base-client.js';
export { ConfigError } from './config-schema/config-decoder.js';
export { ConfigSchema } from './config-schema/config-schema.js';
export type { SpecMessage } from './config-schema/spec-message.js';
export { DeviceClient } from './device-client.js';
export { DriverClient, type InspectedTask, type StartedTask } from './driver-client.js';
export { PluginError, PluginShutDownError } from './errors.js';
export { APP_VERSION, MAGIC_COOKIE, type PluginAddress, PluginStartError } from './handshake.js';
export { handleMessage, handleText } from './handle-text.js';
export * from './messages.js';
export type { PluginDialogue } from './plugin-channel.js';
export { PluginConnection } from './plugin-connection.js';
export type { PluginLogLevel, PluginLogLine } from './plugin-log.js';
export {
  forgetPlugin,
  type PluginExit,
  PluginProcess,
  type PluginProgram,
  type PluginRecord,
} from './plugin-process.js';
export { pluginMessage, type PluginService, pluginService } from './schema.js';
export { status } from './status.js';
