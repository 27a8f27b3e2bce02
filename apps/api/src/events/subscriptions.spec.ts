import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { FakeTime } from '@waybill/model';
import { createLogger } from '@waybill/telemetry';
import { expect, it } from 'vitest';
import { EventFilter, parseTopics } from './event-filter.js';
import { Subscriptions } from './subscriptions.js';

it('EV-69: a client who has left before its stream begins is no subscriber', async () => {
  const raw = new ServerResponse(new IncomingMessage(new Socket()));
  const socket = new Socket();
  raw.assignSocket(socket);
  socket.destroy();
  await new Promise((resolve) => raw.once('close', resolve));
  const time = new FakeTime();
  const events = {
    subscribe: ({ signal }: { readonly signal: AbortSignal }): Promise<void> =>
      signal.aborted ? Promise.resolve() : new Promise(() => {}),
  };
  const options = { enabled: true, replayFrames: 100 };
  const subscriptions = new Subscriptions(events, time, createLogger('api', 'error'), options);
  const filter = new EventFilter(parseTopics([]), 'default');
  const permit = { ended: new AbortController().signal, settled: async () => true };
  await subscriptions.serve(raw, { fromIndex: 0, filter, untilHead: false, permit });
  expect([subscriptions.size, time.pending]).toEqual([0, 0]);
});
