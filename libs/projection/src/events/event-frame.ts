import { canonicalJson, type EventFrame } from '@waybill/state';
import { SharedTexts } from '../writing/shared-texts.js';

/**
 * Bytes of a frame in one message. This is a constant instead of a setting, because after a crash the parts must be the
 * same as before (EV-74). It fits NATS' smallest usual message limit of 1 MiB, with headers.
 */
export const MAX_PART_BYTES = 900 * 1024;
/**
 * Most bytes of the header that describes the events of a frame. A longer one is omitted, and readers parse the frame.
 */
export const MAX_ABOUT_BYTES = 8 * 1024;

export const INDEX_HEADER = 'Waybill-Index';
export const TIME_HEADER = 'Waybill-Time';
/** `k/n` for part k of n. */
export const PART_HEADER = 'Waybill-Part';
export const ABOUT_HEADER = 'Waybill-About';

/** Description of one event without its payload (EV-72). */
export interface EventAbout {
  readonly topic: string;
  readonly namespace: string;
  /** The key and the filter keys. */
  readonly keys: readonly string[];
}

/** One message of the stream EVENTS: a frame or a part of a large one. */
export interface FramePart {
  readonly index: number;
  /** Counted from 1. */
  readonly part: number;
  readonly parts: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly data: Uint8Array;
}

const FRAME_END = ']}';
/** Levels of an event at which objects are similar: the event, its payload, and the payload's object. */
const EVENT_LEVELS = 3;

/**
 * Returns the messages of a frame, in order. Equal frames have equal parts, whatever the order of members.
 * @param texts JSON of the same objects, shared with other writers
 */
export function partsOf(frame: EventFrame, texts = new SharedTexts()): FramePart[] {
  const about = aboutHeader(frame);
  const bodies = [...bodiesOf(frame, texts)];
  return bodies.map((data, at) => ({
    index: frame.Index,
    part: at + 1,
    parts: bodies.length,
    headers: {
      [INDEX_HEADER]: String(frame.Index),
      [TIME_HEADER]: String(frame.Time),
      ...(bodies.length > 1 && { [PART_HEADER]: `${at + 1}/${bodies.length}` }),
      ...(about !== undefined && { [ABOUT_HEADER]: about }),
    },
    data,
  }));
}

/**
 * Yields the frame's JSON, cut between events. A state loaded from PostgreSQL may have another order of members, but
 * each event's text has the same length, so the same events are in the same part.
 */
function* bodiesOf({ Index, Time, Events }: EventFrame, texts: SharedTexts): Generator<Buffer> {
  const head = JSON.stringify({ Index, Time, Events: [] }).slice(0, -FRAME_END.length);
  let [pieces, bytes] = [[head], head.length];
  for (const [at, event] of Events.entries()) {
    const comma = at === 0 ? '' : ',';
    const piece = comma + texts.textOf(event, EVENT_LEVELS);
    const size = Buffer.byteLength(piece);
    if (bytes + size + FRAME_END.length > MAX_PART_BYTES) {
      if (bytes > 0) yield joinPieces(pieces, bytes);
      [pieces, bytes] = [[], 0];
    }
    if (size + FRAME_END.length > MAX_PART_BYTES) yield* cutAnywhere(Buffer.from(comma + canonicalJson(event)));
    else {
      pieces.push(piece);
      bytes += size;
    }
  }
  pieces.push(FRAME_END);
  yield joinPieces(pieces, bytes + FRAME_END.length);
}

/** Joins pieces without building the text of a whole part. */
function joinPieces(pieces: readonly string[], bytes: number): Buffer {
  const buffer = Buffer.allocUnsafe(bytes);
  let at = 0;
  for (const piece of pieces) at += buffer.write(piece, at);
  return buffer;
}

function* cutAnywhere(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += MAX_PART_BYTES) yield bytes.subarray(at, at + MAX_PART_BYTES);
}

/** Formats `[[topic, namespace, key, filter key…]…]` in ASCII. Returns undefined if it would be too long. */
function aboutHeader(frame: EventFrame): string | undefined {
  const events = frame.Events;
  // The shortest entry has more than ten bytes, so a hopeless header is not built.
  if (events.length * 10 > MAX_ABOUT_BYTES) return undefined;
  const about = JSON.stringify(events.map((e) => [e.Topic, e.Namespace, e.Key, ...(e.FilterKeys ?? [])]));
  const ascii = about.replaceAll(/[^ -~]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return ascii.length <= MAX_ABOUT_BYTES ? ascii : undefined;
}

/** Parses the header. Returns undefined if it is absent or malformed. */
export function parseAbout(header: string | undefined): EventAbout[] | undefined {
  if (!header) return undefined;
  const decoded: unknown = JSON.parse(header);
  if (!Array.isArray(decoded)) return undefined;
  return decoded.map((entry: unknown) => {
    const [topic = '', namespace = '', ...keys] = Array.isArray(entry) ? entry.map(String) : [];
    return { topic, namespace, keys };
  });
}

const NEWLINE = Buffer.from('\n');

/** A stored frame. Its line is ready to be sent; other data is computed once, on demand. */
export class StoredFrame {
  /** A weak reference, because a thousand parsed frames take several times the memory of their lines. */
  private parsed: WeakRef<EventFrame> | undefined;
  private aboutEvents: readonly EventAbout[] | undefined;

  constructor(
    readonly index: number,
    /** Sequence of its last part. */
    readonly sequence: number,
    /** JSON of the frame with a newline. */
    readonly line: Uint8Array,
    private readonly about: string | undefined,
  ) {}

  /** Descriptions of its events in order. The payloads are parsed only if there is no header. */
  get events(): readonly EventAbout[] {
    return (this.aboutEvents ??=
      parseAbout(this.about) ??
      this.frame.Events.map((e) => ({
        topic: e.Topic,
        namespace: e.Namespace,
        keys: [e.Key, ...(e.FilterKeys ?? [])],
      })));
  }

  get frame(): EventFrame {
    const known = this.parsed?.deref();
    if (known) return known;
    const { buffer, byteOffset, byteLength } = this.line;
    const frame = JSON.parse(Buffer.from(buffer, byteOffset, byteLength).toString('utf8')) as EventFrame;
    this.parsed = new WeakRef(frame);
    return frame;
  }

  /** Bytes of the header, or an estimate if it was omitted. */
  get aboutLength(): number {
    return this.about?.length ?? this.line.length >> 3;
  }

  /** Returns the same frame with its line in another buffer. */
  withLine(line: Uint8Array): StoredFrame {
    return new StoredFrame(this.index, this.sequence, line, this.about);
  }
}

/** Identifies the transaction of a frame by index and time, like in the log. */
export interface FrameMark {
  readonly index: number;
  /** In unix nanoseconds. NaN for a message of another form. */
  readonly timeNs: number;
}

/** A message of EVENTS as it is stored. */
export interface StoredPart extends FrameMark {
  readonly sequence: number;
  readonly part: number;
  readonly parts: number;
  readonly about: string | undefined;
  readonly data: Uint8Array;
}

/** Parses the headers of a stored message. */
export function storedPart(sequence: number, header: (name: string) => string, data: Uint8Array): StoredPart {
  const [part = '1', parts = '1'] = header(PART_HEADER) === '' ? [] : header(PART_HEADER).split('/');
  return {
    sequence,
    index: Number(header(INDEX_HEADER)),
    timeNs: Number(header(TIME_HEADER) || NaN),
    part: Number(part),
    parts: Number(parts),
    about: header(ABOUT_HEADER) || undefined,
    data,
  };
}

/**
 * Assembles frames from parts. Parts of a frame whose start was trimmed are skipped, because the floor is never inside
 * a frame (EV-74). Memory: one frame.
 */
export class FrameAssembler {
  private pending: StoredPart[] = [];

  /** Whether the last part did not complete its frame. */
  get isInsideFrame(): boolean {
    return this.pending.length > 0;
  }

  /** Returns the frame that this part completes, if any. */
  addPart(part: StoredPart): StoredFrame | undefined {
    if (part.part === 1) this.pending = [];
    if (part.part !== this.pending.length + 1) return undefined;
    this.pending.push(part);
    if (part.part < part.parts) return undefined;
    const line = Buffer.concat([...this.pending.map(({ data }) => data), NEWLINE]);
    this.pending = [];
    return new StoredFrame(part.index, part.sequence, line, part.about);
  }
}
