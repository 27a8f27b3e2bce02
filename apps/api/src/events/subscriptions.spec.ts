import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { FakeTime } from '@waybill/model';
import { StoredFrame } from '@waybill/projection';
import { createLogger } from '@waybill/telemetry';
import { expect, it } from 'vitest';
import { EventFilter, parseTopics } from './event-filter.js';
import { MAX_BUFFERED_BYTES } from './subscriber.js';
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

it('EV-43: a policy that was narrowed while a slow client kept us waiting counts for the lines behind', async () => {
  const raw = new ServerResponse(new IncomingMessage(new Socket()));
  raw.assignSocket(new Duplex({ write: () => {}, read: () => {} }) as Socket); // takes a line, and never the next
  const frames = ['open', 'secret'].map((path, at) => aFrame(at + 1, path));
  const seen = new Set(['open', 'secret']);
  const events = {
    subscribe: async ({ onFrames }: { onFrames: (frames: readonly StoredFrame[]) => void | Promise<void> }) => {
      const sending = onFrames(frames);
      await new Promise(setImmediate);
      seen.delete('secret');
      for (let lines = 0; lines < frames.length; lines++) {
        raw.emit('drain');
        await new Promise(setImmediate);
      }
      await sending;
    },
  };
  const options = { enabled: true, replayFrames: 100 };
  const subscriptions = new Subscriptions(events, new FakeTime(), createLogger('api', 'error'), options);
  const filter = new EventFilter(parseTopics(['Variable']), '*', ({ keys }) => seen.has(keys[0] ?? ''));
  const permit = { ended: new AbortController().signal, settled: async () => true };
  const written: string[] = [];
  const write = raw.write.bind(raw);
  raw.write = ((line: string) => written.push(line) > 0 && write(line)) as typeof raw.write;
  await subscriptions.serve(raw, { fromIndex: 0, filter, untilHead: false, permit });
  const lines = written.join('');
  expect([lines.includes('open'), lines.includes('secret')]).toEqual([true, false]);
});

/** A frame with one event about a variable, long enough to fill a connection. */
function aFrame(index: number, path: string): StoredFrame {
  const Payload = { Data: 'x'.repeat(2 * MAX_BUFFERED_BYTES) };
  const Events = [
    {
      Topic: 'Variable',
      Type: 'VarApplyState',
      Key: path,
      Namespace: 'default',
      FilterKeys: null,
      Index: index,
      Payload,
    },
  ];
  const line = Buffer.from(`${JSON.stringify({ Index: index, Time: 1, Events })}\n`);
  return new StoredFrame(index, index, line, undefined);
}
