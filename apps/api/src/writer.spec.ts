import { type Log, LogUnavailableError } from '@waybill/journal';
import { draftTxn, serviceActor } from '@waybill/state';
import { tracerFor } from '@waybill/telemetry';
import { expect, it } from 'vitest';
import { Writer } from './writer.js';

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
