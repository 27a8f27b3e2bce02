import {
  EVENTS_STREAM,
  LogUnavailableError,
  MAX_MESSAGE_BYTES,
  type NatsLink,
  Publisher,
  ReadyHeaders,
  subjectToken,
} from '@waybill/journal';
import { EventStreamUnavailableError, MAX_ABOUT_BYTES, NatsEventStorage } from '@waybill/projection';
import { type AddressedPart, type EventStream, type EventTail, NO_FRAME } from './event-stream.js';

/** Messages on their way at once, and their bytes. */
export const MAX_APPENDS_IN_FLIGHT = 256;
export const MAX_BYTES_IN_FLIGHT = 8 * 1024 * 1024;
/** More than the headers of any part. */
const ROOM_FOR_HEADERS = 2 * MAX_ABOUT_BYTES;
/** Until messages whose last one is not acknowledged count as failed, milliseconds. */
export const APPEND_TIMEOUT_MS = 3_000;

/**
 * EVENTS in JetStream. Every message names the sequence it must follow, so many can be on the way at once: if one is not
 * stored, none behind it is. So the acknowledgement of the last stands for all, and the others ask for none.
 */
export class NatsEventStream implements EventStream {
  private readonly publisher: Publisher;
  private readonly storage: NatsEventStorage;

  constructor(private readonly link: NatsLink) {
    this.publisher = new Publisher(link);
    this.storage = new NatsEventStorage(link.nc);
  }

  async tail(): Promise<EventTail> {
    this.assertConnected();
    const { first, last, end } = await this.storage.bounds();
    const [newest] = last >= first ? await this.storage.readParts(last, 1, 1) : [];
    if (!newest) return { sequence: last, end, ...NO_FRAME };
    const { index, timeNs, part, parts } = newest;
    return { sequence: last, end, index, timeNs, part, parts };
  }

  onReturn(listener: () => void): () => void {
    return this.link.onChange((up) => up && listener());
  }

  /** A message must fit NATS' limit with its headers, whatever the sequence that it follows. */
  refusalOf(part: AddressedPart): string | undefined {
    const limit = Math.min(MAX_MESSAGE_BYTES, this.link.nc.info?.max_payload ?? MAX_MESSAGE_BYTES);
    if (part.data.length + ROOM_FOR_HEADERS <= limit) return undefined;
    const bytes = part.data.length + headersOf(part, Number.MAX_SAFE_INTEGER).length;
    return bytes <= limit ? undefined : `its message has ${bytes} bytes, and NATS takes at most ${limit}`;
  }

  async append(parts: readonly AddressedPart[], sequence: number): Promise<number> {
    let at = sequence;
    for (const flight of flightsOf(parts)) {
      this.assertConnected();
      for (const part of flight.slice(0, -1)) {
        const headers = new ReadyHeaders(headersOf(part, at++));
        this.link.nc.publish(subjectOf(part), part.data, { headers });
      }
      for (const last of flight.slice(-1)) await this.acknowledged(last, at++);
    }
    return at;
  }

  private async acknowledged(part: AddressedPart, after: number): Promise<void> {
    const ack = await this.publisher.send(subjectOf(part), headersOf(part, after), part.data, APPEND_TIMEOUT_MS);
    if (ack.kind === 'stored' || (await this.isAt(part, after + 1))) return;
    const reason =
      ack.kind === 'refused' ? ack.reason : `it ends at ${ack.actual ?? 'another message'}, not at ${after}`;
    throw new EventStreamUnavailableError(reason);
  }

  /** An earlier attempt was stored, and only its acknowledgement came too late: the next one finds this very part there. */
  private async isAt(part: AddressedPart, sequence: number): Promise<boolean> {
    const [stored] = await this.storage.readParts(sequence, 1, 1);
    return stored?.sequence === sequence && stored.index === part.index && stored.part === part.part;
  }

  /** What is published without a connection is buffered and sent much later. */
  private assertConnected(): void {
    if (!this.link.up) throw new LogUnavailableError('not connected to NATS');
  }
}

const subjectOf = ({ txnType, namespace }: AddressedPart): string =>
  `${EVENTS_STREAM}.${subjectToken(txnType)}.${subjectToken(namespace)}`;

/** @param after the sequence that it must follow */
function headersOf(part: AddressedPart, after: number): string {
  let block = `NATS/1.0\r\nNats-Expected-Last-Sequence: ${after}\r\n`;
  for (const [name, value] of Object.entries(part.headers)) block += `${name}: ${value}\r\n`;
  return `${block}\r\n`;
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
