export { ArchiveLostError, Archives, openArchive, withArchives } from './archives.js';
export type { OpenedArchive, StoredArchive } from './archives.js';
export { AuditStream } from './audit-stream.js';
export type { StoredRecord } from './audit-stream.js';
export { connect, NatsLink } from './connection.js';
export type { ConnectOptions } from './connection.js';
export type { NatsTlsFiles } from './nats-tls.js';
export type { ConnectionProof } from './proof-authenticator.js';
export { CredentialsError, inboxPrefixOf, newUserKey, readCredentials, userKey } from './credentials.js';
export type { NatsCredentials } from './credentials.js';
export * from './errors.js';
export { initialise } from './initialise.js';
export type { InitialiseOptions } from './initialise.js';
export { Journal } from './journal.js';
export type { LogBounds } from './journal.js';
export { COMPARE_INTERVAL_MS, LogHistory } from './log-history.js';
export type { LogRecord } from './log-history.js';
export { JournalContext, JournalServer, subjectMatches } from './journal-server.js';
export type { JournalServerOptions } from './journal-server.js';
export type { Delivery, FollowOptions, Follower, Log, Published, PublishOptions } from './log.js';
export { MAX_IN_FLIGHT, MAX_QUEUED, PUBLISH_DEADLINE_MS, Publisher } from './publisher.js';
export { type LogInfo, type LogView, type PassingTime, SameLog } from './same-log.js';
export { RAW_BATCH, type RawCursor, RawLog, type RawMessage } from './raw-log.js';
export { ReadyHeaders } from './ready-headers.js';
export { type ServerTime, serverTime } from './server-time.js';
export {
  API_TIMEOUT_MS,
  AUDIT_STREAM,
  DUPLICATE_WINDOW_MS,
  ensureStreams,
  EVENTS_STREAM,
  isWrongLastSequence,
  LEASES_BUCKET,
  LOGIN_PENDING_MS,
  LOGINS_STREAM,
  managerOf,
  MAX_MESSAGE_BYTES,
  MAX_PENDING_LOGINS,
  MAX_USED_LOGINS,
  USED_LOGINS_STREAM,
} from './streams.js';
export type { StreamOptions } from './streams.js';
export {
  deploymentSubject,
  jobSubject,
  leaseSubject,
  nodeSubject,
  subjectOf,
  subjectToken,
  SYSTEM_SUBJECT,
  TXN_DOMAINS,
  TXN_STREAM,
} from './subject.js';
export { decodeTxn, encodeTxn, readTxn, type WrittenTxn } from './txn-codec.js';
export { type EventLimits, StreamRetention } from './stream-retention.js';
export {
  type AdmittedUser,
  AUTH_REQUESTS,
  AuthRequestError,
  ConnectionIssuer,
  type ConnectRequest,
  issuerKey,
  newIssuerKey,
  readConnectRequest,
  type UserPermissions,
} from './auth-callout.js';
