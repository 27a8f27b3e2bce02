import { TXN_TYPES, type TxnPayloads, type TxnType } from './catalogue.js';
import type { Txn } from './txn.js';

/**
 * The log contains a payload of a newer schema than this version knows. The caller stops: guessing would make replicas
 * differ (ST-8).
 */
export class UnknownSchemaVersionError extends Error {
  override readonly name = 'UnknownSchemaVersionError';
  constructor(
    readonly type: TxnType,
    readonly schemaVersion: number,
    readonly index: number,
  ) {
    super(
      `transaction ${index} (${type}) has schema version ${schemaVersion}, this program knows up to ` +
        `${TXN_TYPES[type].schemaVersion}: upgrade it`,
    );
  }
}

/** Converts a payload of schema version n (the key) into version n + 1. The input was written by an older version. */
type Step<T extends TxnType> = (payload: unknown) => TxnPayloads[T] | Record<string, unknown>;
type Upcasts = { readonly [T in TxnType]?: Readonly<Record<number, Step<T>>> };

/**
 * Steps by type, one for every schema version that was ever written and is not today's. To raise a `schemaVersion` in
 * the catalogue, add the step from the old version here; the log is never rewritten.
 */
const UPCASTS: Upcasts = {
  AllocClientUpdate: {
    1: (payload) => ({ ...(payload as TxnPayloads['AllocClientUpdate']), KnowsUpdatesOnly: true }),
    2: (payload) => ({
      ...(payload as TxnPayloads['AllocClientUpdate']),
      KeepsEndedCanaries: true,
      KeepsTimeouts: true,
    }),
    3: (payload) => ({ ...(payload as TxnPayloads['AllocClientUpdate']), TakesReportsOfOthers: true }),
  },
  ApplyPlanResults: {
    // Only the written form differs (written-form.ts).
    1: (payload) => payload as TxnPayloads['ApplyPlanResults'],
    2: (payload) => payload as TxnPayloads['ApplyPlanResults'],
    3: (payload) => ({ ...(payload as TxnPayloads['ApplyPlanResults']), StoresAnyDeployment: true }),
    4: (payload) => ({ ...(payload as TxnPayloads['ApplyPlanResults']), KeepsEndedCanaries: true }),
  },
  // Without `AsOf`, the claims of one allocation are not distinguished.
  CSIVolumeClaim: { 1: (payload) => payload as TxnPayloads['CSIVolumeClaim'] },
  DeploymentAllocHealth: {
    1: (payload) => ({ ...(payload as TxnPayloads['DeploymentAllocHealth']), KeepsEndedCanaries: true }),
  },
  // An old log is applied as it was, with wrong counters: a reconciliation of the summaries repairs them.
  EvalDelete: {
    1: (payload) => ({ ...(payload as TxnPayloads['EvalDelete']), KeepsCounters: true }),
    2: (payload) => ({ ...(payload as TxnPayloads['EvalDelete']), PartsOfJobs: true }),
  },
  StateRestore: {
    1: (payload) => ({ ...(payload as TxnPayloads['StateRestore']), KeepsReleases: true, KeepsTerms: true }),
    2: (payload) => ({ ...(payload as TxnPayloads['StateRestore']), KeepsTerms: true }),
    // An older version always names an archive.
    3: (payload) => payload as TxnPayloads['StateRestore'],
  },
};

/** The payload in today's schema version. No cost for today's version. */
export function upcast<T extends TxnType>(txn: Pick<Txn<T>, 'type' | 'schemaVersion' | 'index' | 'payload'>): unknown {
  const today = TXN_TYPES[txn.type].schemaVersion;
  if (txn.schemaVersion === today) return txn.payload;
  if (txn.schemaVersion > today) throw new UnknownSchemaVersionError(txn.type, txn.schemaVersion, txn.index);
  let payload: unknown = txn.payload;
  for (let version = txn.schemaVersion; version < today; version++) {
    const step = UPCASTS[txn.type]?.[version];
    if (!step) throw new UnknownSchemaVersionError(txn.type, txn.schemaVersion, txn.index);
    payload = step(payload);
  }
  return payload;
}
