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

/**
 * The largest number of messages that are sent and not yet acknowledged; MAX_BYTES_IN_FLIGHT is the limit of their
 * bytes.
 */
export const MAX_APPENDS_IN_FLIGHT = 256;
export const MAX_BYTES_IN_FLIGHT = 8 * 1024 * 1024;
/** The room in bytes is larger than the headers of any part. */
const ROOM_FOR_HEADERS = 2 * MAX_ABOUT_BYTES;
/** The time in milliseconds after which messages count as failed if the last of them is not acknowledged. */
export const APPEND_TIMEOUT_MS = 3_000;

/**
 * NatsEventStream is EVENTS in JetStream. Every message names the sequence that it must follow, so many messages can be
 * on their way at once: if one is not stored, none behind it is stored. The acknowledgement of the last message
 * therefore counts for all, and the others request none.
 */
export class NatsEventStream implements EventStream {
  private readonly publisher: Publisher;
  private readonly storage: NatsEventStorage;

  constructor(private readonly link: NatsLink) {
    this.publisher = new Publisher(link);
    this.storage = new NatsEventStorage(link.nc, link.inboxPrefix);
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

  /** Checks that a message with its headers fits NATS' limit, whatever sequence it follows. */
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

  /**
   * Says whether this part is already at the sequence. This happens if an earlier attempt was stored and its
   * acknowledgement came too late.
   */
  private async isAt(part: AddressedPart, sequence: number): Promise<boolean> {
    const [stored] = await this.storage.readParts(sequence, 1, 1);
    return stored?.sequence === sequence && stored.index === part.index && stored.part === part.part;
  }

  /** Throws if there is no connection. The client would buffer a message and send it much later. */
  private assertConnected(): void {
    if (!this.link.up) throw new LogUnavailableError('not connected to NATS');
  }
}

const subjectOf = ({ txnType, namespace }: AddressedPart): string =>
  `${EVENTS_STREAM}.${subjectToken(txnType)}.${subjectToken(namespace)}`;

/** @param after the sequence that the part must follow */
function headersOf(part: AddressedPart, after: number): string {
  let block = `NATS/1.0\r\nNats-Expected-Last-Sequence: ${after}\r\n`;
  for (const [name, value] of Object.entries(part.headers)) block += `${name}: ${value}\r\n`;
  return `${block}\r\n`;
}

/** Returns groups of parts that may be on their way together. */
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
