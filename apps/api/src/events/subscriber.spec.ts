import { FakeTime } from '@waybill/model';
import { beforeEach, describe, expect, it } from 'vitest';
import { HEARTBEAT_MS, type LineSink, MAX_BUFFERED_BYTES, STALLED_WRITE_MS, Subscriber } from './subscriber.js';

/** A client that takes what it is told to. */
class Client implements LineSink {
  readonly lines: string[] = [];
  bufferedBytes = 0;
  reading = true;
  ended = false;
  broken = false;
  private onDrain: (() => void)[] = [];

  write(line: string | Uint8Array): void {
    this.lines.push(Buffer.from(line as Uint8Array).toString());
    if (!this.reading) this.bufferedBytes += Buffer.byteLength(line);
  }

  drained(): Promise<void> {
    return new Promise((resolve) => this.onDrain.push(resolve));
  }

  take(bytes: number): void {
    this.bufferedBytes = Math.max(0, this.bufferedBytes - bytes);
    if (this.bufferedBytes === 0) for (const resolve of this.onDrain.splice(0)) resolve();
  }

  end(): void {
    this.ended = true;
  }

  destroy(): void {
    this.broken = true;
  }
}

let time: FakeTime;
let client: Client;
let subscriber: Subscriber;

beforeEach(() => {
  time = new FakeTime();
  client = new Client();
  subscriber = new Subscriber(client, time);
  subscriber.open();
});

describe('Subscriber', () => {
  it('API-400, EV-24: a heartbeat at once and every 30 s, exactly {}', async () => {
    expect(client.lines).toEqual(['{}\n']);
    await time.pass(3 * HEARTBEAT_MS);
    expect(client.lines).toEqual(['{}\n', '{}\n', '{}\n', '{}\n']);
    expect(HEARTBEAT_MS).toBe(30_000);
  });

  it('API-416, API-622, EV-69: a client that takes nothing for 40 s is closed, however little waits', async () => {
    client.reading = false;
    await subscriber.send('{"Index":1}\n', 1);
    await time.pass(STALLED_WRITE_MS - 1);
    expect(client.ended).toBe(false);
    await time.pass(1);
    expect(client.ended).toBe(true);
    expect(subscriber.signal.aborted).toBe(true);
    expect(time.pending).toBe(0);
    expect(STALLED_WRITE_MS).toBe(40_000);
  });

  it('EV-69: a client that is slow and not stuck stays', async () => {
    client.reading = false;
    await subscriber.send('x'.repeat(1_000), 1);
    for (let at = 0; at < 5; at++) {
      client.take(100);
      await time.pass(STALLED_WRITE_MS);
    }
    expect(client.ended).toBe(false);
    await time.pass(STALLED_WRITE_MS);
    expect(client.ended).toBe(true);
  });

  it('API-416, API-622, EV-69: whoever sends waits while more than 64 KiB do, so nothing piles up', async () => {
    client.reading = false;
    let sent = 0;
    const sending = (async () => {
      for (; sent < 10 && !subscriber.signal.aborted; sent++)
        await subscriber.send('x'.repeat(MAX_BUFFERED_BYTES / 2), sent);
    })();
    await time.pass(1);
    expect(sent).toBe(2); // the third is over the limit, and waits
    client.take(Number.POSITIVE_INFINITY);
    await time.pass(1);
    expect(sent).toBe(5);
    subscriber.close();
    await sending;
    await subscriber.send('nothing is written to a closed one', 11);
    expect(client.lines.at(-1)).not.toContain('nothing');
  });

  it('AU-231: a client that may see no more gets nothing of what waits for it; its body ends if nothing waits', async () => {
    subscriber.revoke();
    expect([client.ended, client.broken]).toEqual([true, false]);
    const slow = new Client();
    const behind = new Subscriber(slow, time);
    slow.reading = false;
    behind.open();
    const sending = behind.send('x'.repeat(MAX_BUFFERED_BYTES), 1);
    behind.revoke();
    await sending;
    await behind.send('{"Index":2}\n', 2);
    expect([slow.ended, slow.broken, slow.lines.length, time.pending]).toEqual([false, true, 2, 0]);
  });
});
