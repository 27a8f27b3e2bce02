import { TXN_TYPES, type TxnPayloads, type TxnType } from './catalogue.js';
import type { Txn } from './txn.js';

/** The log holds a payload newer than this program knows. The caller stops: guessing would make replicas differ (ST-8). */
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

/** Turns a payload of schema version n (the key) into one of n + 1. The input is what an older program wrote. */
type Step<T extends TxnType> = (payload: unknown) => TxnPayloads[T] | Record<string, unknown>;
type Upcasts = { readonly [T in TxnType]?: Readonly<Record<number, Step<T>>> };

/**
 * Steps per type, one for every schema version that was ever written and is not today's. Raising a `schemaVersion` in
 * the catalogue means adding the step from the old one here; the log is never rewritten.
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
    // Only their forms in the log are others (written-form.ts).
    1: (payload) => payload as TxnPayloads['ApplyPlanResults'],
    2: (payload) => payload as TxnPayloads['ApplyPlanResults'],
    3: (payload) => ({ ...(payload as TxnPayloads['ApplyPlanResults']), StoresAnyDeployment: true }),
    4: (payload) => ({ ...(payload as TxnPayloads['ApplyPlanResults']), KeepsEndedCanaries: true }),
  },
  // Without `AsOf` the claims of one allocation are not told apart.
  CSIVolumeClaim: { 1: (payload) => payload as TxnPayloads['CSIVolumeClaim'] },
  DeploymentAllocHealth: {
    1: (payload) => ({ ...(payload as TxnPayloads['DeploymentAllocHealth']), KeepsEndedCanaries: true }),
  },
  // An old log makes what it made, wrong counters included: a reconciliation of summaries mends them.
  EvalDelete: {
    1: (payload) => ({ ...(payload as TxnPayloads['EvalDelete']), KeepsCounters: true }),
    2: (payload) => ({ ...(payload as TxnPayloads['EvalDelete']), PartsOfJobs: true }),
  },
  StateRestore: {
    1: (payload) => ({ ...(payload as TxnPayloads['StateRestore']), KeepsReleases: true, KeepsTerms: true }),
    2: (payload) => ({ ...(payload as TxnPayloads['StateRestore']), KeepsTerms: true }),
  },
};

/** The payload as today's appliers expect it. Free for today's version. */
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
