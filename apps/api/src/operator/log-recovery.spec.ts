import type { RecordedMarks } from '@waybill/projection';
import type { LogMark } from '@waybill/state';
import { silentLogger } from '@waybill/telemetry';
import { expect, it } from 'vitest';
import { type DecidedLog, LogRecovery, type LogRecoveryDeps } from './log-recovery.js';

const unused = (): never => {
  throw new Error('a comparison does not need this');
};
const markOf = async (index: number): Promise<LogMark> => ({ index, requestId: `${index}`, timeNs: index });

/** A log that takes a transaction whenever somebody looks, and a Postgres that has each of them at once. */
function busy() {
  let last = 10;
  const log: DecidedLog = {
    bounds: async () => ({ first: 1, last: ++last }),
    markAt: markOf,
    close: () => {},
    follow: unused,
    publish: unused,
    publishAt: unused,
    archives: { put: unused },
  };
  const marks = async (): Promise<RecordedMarks> => ({ first: 1, last: ++last, newestUpTo: markOf });
  const deps: LogRecoveryDeps = {
    openJournal: () => log,
    marks,
    lostAbove: unused,
    restoredIndex: async () => 0,
    leases: unused,
    rewind: unused,
    events: { newest: async () => undefined, removeAbove: unused },
    pack: unused,
    open: unused,
    divergence: () => undefined,
    writer: { draft: unused },
    newId: unused,
    logger: silentLogger,
  };
  return new LogRecovery(deps);
}

it('ST-1: what is written and projected while log and Postgres are compared is not lost', async () => {
  expect(await busy().status()).toMatchObject({ applied: 11, common: 11, log: { last: 12 }, lostCount: 0, lost: [] });
});
