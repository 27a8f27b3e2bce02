// Messages of the log, of every type and in every form: decoding, encoding, applying.
import { BadTxnError, decodeTxn, encodeTxn, UnknownTxnError } from '../../../libs/journal/dist/index.js';
import {
  draftTxn,
  fixtures,
  StateMachine,
  TXN_TYPES,
  UnknownSchemaVersionError,
} from '../../../libs/state/dist/index.js';
import { declaring, same, timed } from '../harness.mjs';

const END = '\r\n\r\n';

export const fuzz = timed((data) => {
  const end = data.indexOf(END);
  const headers = data.subarray(0, end < 0 ? data.length : end + END.length).toString('latin1');
  const body = data.subarray(headers.length);
  const declared = [BadTxnError, UnknownTxnError];
  const txn = declaring(declared, () => decodeTxn(1, headers, body));
  if (txn === undefined) return;
  // What is written of it, in today's form if it has that, is the same transaction.
  if (txn.schemaVersion === TXN_TYPES[txn.type].schemaVersion && isWritable(txn.payload)) {
    const encoded = encodeTxn(txn);
    same('what was written', asWritten(decodeTxn(1, encoded.headers, encoded.body)), asWritten(txn));
  }
  // A defect of an applier is taken back and refused (ST-8): it is no exception. Twice the same log, twice the same state.
  const outcomes = [1, 2].map(() => {
    const machine = new StateMachine();
    const applied = declaring([UnknownSchemaVersionError], () => machine.apply(txn));
    return applied && { verdict: applied.verdict, changes: applied.changes };
  });
  same('applied once more', outcomes[1], outcomes[0]);
});

/** A list where an object is expected is for the form in the log to refuse. @param {object} payload */
const isWritable = (payload) => Object.keys(payload).length > 0;
/** @param {object} txn */
const asWritten = (txn) => JSON.parse(JSON.stringify(txn));

export function seeds() {
  const context = { timeNs: 1_767_225_600_000 * 1e6, requestId: 'r1', actor: { Kind: 'role', ID: 'api', Name: 'api' } };
  const log = fixtures.aRandomLog(1, 400);
  const firsts = new Map(log.map((txn) => /** @type {const} */ ([txn.type, txn])).toReversed());
  const written = [...firsts.values()].map((txn) => encodeTxn(txn));
  const bare = Object.keys(TXN_TYPES).map((type) =>
    encodeTxn(
      draftTxn(/** @type {any} */ (type), /** @type {any} */ ({ AllocsUpdated: [] }), /** @type {any} */ (context)),
    ),
  );
  return [...written, ...bare].map(({ headers, body }) => Buffer.concat([Buffer.from(headers), body]));
}
