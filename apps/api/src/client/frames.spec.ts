import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { FakeTime, settle } from '@waybill/model';
import { LogFeed } from '@waybill/telemetry';
import { describe, expect, it } from 'vitest';
import { LogMonitor } from '../cluster/log-monitor.js';
import { goneSignal } from '../http/reads.js';
import type { ApiReply } from '../http/reply.js';
import { type FilePiece, MAX_FRAME_BYTES, sendPieces } from './frames.js';

/** An answer to a client who reads nothing, and who can leave. */
function answering() {
  const raw = new ServerResponse(new IncomingMessage(new Socket()));
  const reply: ApiReply = {
    raw,
    request: {},
    code: () => reply,
    header: () => reply,
    send: () => reply,
    hijack: () => reply,
  };
  return { raw, reply, gone: goneSignal(reply), leave: () => raw.emit('close') };
}

describe('pieces on their way to a client', () => {
  it('OP-82: a client who leaves ends the log he watches', async () => {
    const { reply, gone, leave } = answering();
    const feed = new LogFeed();
    const time = new FakeTime();
    const pieces = new LogMonitor(feed, time, time, { level: 'debug', json: true }).pieces(gone);
    const sending = sendPieces(reply, pieces, gone, false);
    await time.pass(1_000);
    expect(feed.lowest).toBeLessThan(Infinity);
    leave();
    await sending;
    expect(feed.lowest).toBe(Infinity);
    expect(time.pending).toBe(0);
  });

  it('AG-314: a client who leaves while he is waited for ends the source, and nothing of the waits stays', async () => {
    const { raw, reply, gone, leave } = answering();
    const piece: FilePiece = { data: Buffer.alloc(MAX_FRAME_BYTES), offset: 0, file: 'web.stdout.0' };
    let isEnded = false;
    async function* source(): AsyncGenerator<FilePiece> {
      try {
        for (;;) yield piece;
      } finally {
        isEnded = true;
      }
    }
    const sending = sendPieces(reply, source(), gone, true);
    for (let wait = 0; wait < 5; wait++) {
      await settle();
      raw.emit('drain');
    }
    await settle();
    expect(raw.listenerCount('drain')).toBe(1);
    leave();
    await sending;
    expect([isEnded, raw.listenerCount('drain')]).toEqual([true, 0]);
  });

  it('API-58: who has left before anybody looked is gone', async () => {
    const { raw, reply } = answering();
    const socket = new Socket();
    raw.assignSocket(socket);
    socket.destroy();
    await new Promise((resolve) => raw.once('close', resolve));
    expect(goneSignal(reply).aborted).toBe(true);
  });
});
