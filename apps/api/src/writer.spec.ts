import { type Log, LogUnavailableError } from '@waybill/journal';
import { OtherTransactionError } from '@waybill/projection';
import { draftTxn, serviceActor } from '@waybill/state';
import { tracerFor } from '@waybill/telemetry';
import { expect, it } from 'vitest';
import { READABLE_TIMEOUT_MS, Writer } from './writer.js';

const draft = draftTxn(
  'NodeDeregister',
  { NodeID: 'n1' },
  { timeNs: 1, requestId: 'request', actor: serviceActor('test') },
);

/** What a user is told whose write the log has not taken. */
function toldWhen(failure: LogUnavailableError): Promise<unknown> {
  const log: Pick<Log, 'publish'> = { publish: () => Promise.reject(failure) };
  const projected = { waitFor: () => Promise.reject(new Error('nothing was written')) };
  return new Writer(log, projected, () => tracerFor('test')).propose(draft).catch((error: unknown) => error);
}

it('ST-1: a write whose index is another transaction is not acknowledged', async () => {
  const log = { publish: () => Promise.resolve({ index: 7, duplicate: false }) };
  const asked: unknown[] = [];
  const projected = {
    waitFor: (...given: unknown[]) => {
      asked.push(given);
      return Promise.reject(new OtherTransactionError(7));
    },
  };
  const told = new Writer(log, projected, () => tracerFor('test')).propose(draft);
  await expect(told).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringContaining('index 7, as which this was written, is another transaction now'),
  });
  expect(asked).toEqual([[7, READABLE_TIMEOUT_MS, 'request']]);
});

it('API-39: without the log a write is refused, and whether it may be there all the same is said as it is', async () => {
  expect(await toldWhen(new LogUnavailableError('no connection'))).toMatchObject({
    code: 'unavailable',
    message: 'the log (NATS JetStream) cannot be reached; nothing was written',
  });
  expect(await toldWhen(new LogUnavailableError('no answer', { mayBeWritten: true }))).toMatchObject({
    code: 'unavailable',
    message: expect.stringContaining('may have been written'),
  });
});
