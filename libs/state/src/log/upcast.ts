import { TXN_TYPES, type TxnPayloads, type TxnType } from './catalogue.js';
import type { Txn } from './txn.js';

/**
 * The log contains a payload of a schema that this version does not know: a newer one, or one from before 0.1.0. The
 * caller stops: guessing would make replicas differ (ST-8).
 */
export class UnknownSchemaVersionError extends Error {
  override readonly name = 'UnknownSchemaVersionError';
  constructor(
    readonly type: TxnType,
    readonly schemaVersion: number,
    readonly index: number,
  ) {
    super(
      `transaction ${index} (${type}) has schema version ${schemaVersion}, ` +
        (schemaVersion > TXN_TYPES[type].schemaVersion
          ? `this program knows up to ${TXN_TYPES[type].schemaVersion}: upgrade it`
          : 'which was written before version 0.1.0 and cannot be read any more: start with a new data directory'),
    );
  }
}

type Versioned = Pick<Txn, 'type' | 'schemaVersion' | 'index'>;

/** Converts a payload of schema version n (the key) into version n + 1. The input was written by an older version. */
type Step<T extends TxnType> = (payload: unknown) => TxnPayloads[T] | Record<string, unknown>;
type Upcasts = { readonly [T in TxnType]?: Readonly<Record<number, Step<T>>> };

/**
 * Steps by type, one for every schema version that a release wrote and that is not today's. To raise a `schemaVersion`
 * in the catalogue, add the step from the old version here; the log is never rewritten. A step keeps the effect that the
 * transaction had when it was written: `EvalDelete` shows how, by a flag in the payload that only a step sets. Schema
 * versions from before 0.1.0 have no steps, with the exception of `EvalDelete` and `StateRestore`.
 */
const UPCASTS: Upcasts = {
  EvalDelete: {
    2: (payload) => ({ ...(payload as TxnPayloads['EvalDelete']), PartsOfJobs: true }),
  },
  StateRestore: {
    4: (payload) => ({ ...(payload as TxnPayloads['StateRestore']), KeepsTableIndexes: true }),
  },
};

/** Throws an UnknownSchemaVersionError unless the transaction's payload can be converted into today's version. */
export function assertKnownSchemaVersion({ type, schemaVersion, index }: Versioned): void {
  const today = TXN_TYPES[type].schemaVersion;
  for (let version = schemaVersion; version !== today; version++)
    if (version > today || !UPCASTS[type]?.[version]) throw new UnknownSchemaVersionError(type, schemaVersion, index);
}

/** The payload in today's schema version. No cost for today's version. */
export function upcast<T extends TxnType>(txn: Versioned & Pick<Txn<T>, 'payload'>): unknown {
  assertKnownSchemaVersion(txn);
  let payload: unknown = txn.payload;
  for (let version = txn.schemaVersion; version < TXN_TYPES[txn.type].schemaVersion; version++)
    payload = UPCASTS[txn.type]?.[version]?.(payload);
  return payload;
}
