export { type DevicePlugin, type Said, serveDevice } from './device-plugin.js';
export {
  attributeOf,
  type CommandIo,
  type DriverExit,
  type DriverHealthReport,
  type DriverPlugin,
  driverService,
  type DriverTask,
  serveDriver,
} from './driver-plugin.js';
export {
  aborted,
  answering,
  type Described,
  RecoverableError,
  servePlugin,
  type ServiceHandlers,
  streaming,
  TaskNotFoundError,
  UnimplementedError,
} from './plugin-server.js';
