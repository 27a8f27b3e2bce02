export { Divergence, HistoryChangedError, type RecordedHistory } from './divergence.js';
export * from './definition.js';
export { CONTRACT_PREFIX, gatherFigures, type ServiceFigures } from './figures.transport.js';
export { Infrastructure } from './infrastructure.js';
export { KeyringSettingsError, keyWrappersOf, openKeyring } from './open-keyring.js';
export { listen } from './listen.js';
export { MachineCredentialPipe } from './machine-credential.pipe.js';
export { MachineClock, type Witness, WITNESS_PERIOD_MS } from './machine-clock.js';
export { EXIT_CONFIGURATION, EXIT_FAILED, requiredSettings, runService } from './run-service.js';
export { hostLabels, metricsView, statsdSender } from './metrics-view.js';
export { StatsdSender } from './statsd.transport.js';
export type { NewRoleEvent, RecordsRoleEvents } from './role-audit.js';
export { RunningService, type ServiceState, type StartOptions } from './running-service.js';
export {
  describeSettings,
  readSettings,
  type SettingName,
  type Settings,
  SETTINGS,
  SettingsError,
  withoutPasswords,
} from './settings.js';
export type { AuditFilterSetting } from './audit-settings.js';
export type { ConsulServer, VaultServer } from './login-forms.js';
export type { ConfiguredHostVolume } from './setting-forms.js';
export { TlsIdentity, type TlsIdentityDeps, type TlsOptions, TlsFilesError } from './tls/tls-identity.js';
export { UserRights, type UserRightsDeps, userRightsOf } from './user-rights.js';
export { newUuid, systemClock, systemTimers } from './system.js';
export { KEYED_SERVICES, type KeyedService, keyedServiceUser } from './nats-rights.js';
export { KEY_WAIT_MS, MAX_KEY_WAITS, NodeIdentityCheck } from './node-identity-check.js';
export { NestLogger } from './nest-logger.js';
export { judgeWebRequest, type WebAccess, type WebVerdict } from './web/cross-origin.js';
export { unprotectedListening } from './web/unprotected-listening.js';
export { guardWebAccess, webAccessOf } from './web/cross-origin.transport.js';
