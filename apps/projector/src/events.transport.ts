import { jetstream, type JetStreamClient } from '@nats-io/jetstream';
import { headers as natsHeaders } from '@nats-io/transport-node';
import { EVENTS_STREAM, LogUnavailableError, type NatsLink, subjectToken } from '@waybill/journal';
import { NatsEventStorage } from '@waybill/projection';
import type { AddressedPart, EventStream, EventTail } from './event-stream.js';

/** Appends that wait for their acknowledgement at once, and their bytes. */
export const MAX_APPENDS_IN_FLIGHT = 256;
export const MAX_BYTES_IN_FLIGHT = 8 * 1024 * 1024;
/** Until an append that is not acknowledged counts as failed, milliseconds. */
export const APPEND_TIMEOUT_MS = 3_000;

/**
 * EVENTS in JetStream. Every append names the sequence it must follow, so many can be on the way at once: if one fails,
 * all behind it fail.
 */
export class NatsEventStream implements EventStream {
  private readonly js: JetStreamClient;
  private readonly storage: NatsEventStorage;

  constructor(private readonly link: NatsLink) {
    this.js = jetstream(link.nc, { timeout: APPEND_TIMEOUT_MS });
    this.storage = new NatsEventStorage(link.nc);
  }

  async tail(): Promise<EventTail> {
    this.assertConnected();
    const { first, last } = await this.storage.bounds();
    const [newest] = last >= first ? await this.storage.read(last, 1, 1) : [];
    if (!newest) return { sequence: last, index: 0, part: 0, parts: 0 };
    return { sequence: last, index: newest.index, part: newest.part, parts: newest.parts };
  }

  async append(parts: readonly AddressedPart[], sequence: number): Promise<number> {
    let at = sequence;
    for (const flight of flightsOf(parts)) {
      this.assertConnected();
      const after = at;
      const acks = flight.map((part, position) => this.publish(part, after + position));
      await Promise.all(acks);
      at += flight.length;
    }
    return at;
  }

  private async publish(part: AddressedPart, after: number): Promise<void> {
    const headers = natsHeaders();
    for (const [name, value] of Object.entries(part.headers)) headers.set(name, value);
    const subject = `${EVENTS_STREAM}.${subjectToken(part.txnType)}.${subjectToken(part.namespace)}`;
    await this.js.publish(subject, part.data, {
      headers,
      expect: { lastSequence: after },
      timeout: APPEND_TIMEOUT_MS,
      retries: 1,
    });
  }

  /** What is published without a connection is buffered and sent much later. */
  private assertConnected(): void {
    if (!this.link.up) throw new LogUnavailableError('not connected to NATS');
  }
}

/** Groups that may be on the way together. */
function flightsOf(parts: readonly AddressedPart[]): AddressedPart[][] {
  const flights: AddressedPart[][] = [];
  let bytes = 0;
  for (const part of parts) {
    const current = flights.at(-1);
    if (!current || current.length >= MAX_APPENDS_IN_FLIGHT || bytes + part.data.length > MAX_BYTES_IN_FLIGHT) {
      flights.push([part]);
      bytes = part.data.length;
    } else {
      current.push(part);
      bytes += part.data.length;
    }
  }
  return flights;
}
