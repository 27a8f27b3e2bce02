export { HolderWriter, WriteRejectedError } from './holder-writer.js';
export type { AskedBy, HolderWriterDeps } from './holder-writer.js';
export { KvLeaseStore } from './kv-lease-store.js';
export { Lease, RENEWALS_PER_TTL, TRUSTED_SHARE } from './lease.js';
export type { LeaseOptions } from './lease.js';
export { LEASE_TABLES, LEASE_TXNS, LeaseRunner, monotonicClock } from './lease-runner.js';
export type { LeaseRunnerOptions } from './lease-runner.js';
export type { LeaseStore } from './lease-store.js';
export type { Singleton, Term } from './singleton.js';
