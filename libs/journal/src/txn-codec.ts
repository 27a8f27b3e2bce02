import { MAX_BIGINT, MAX_TRACEPARENT_CHARS, errorText } from '@waybill/model';
import {
  MAX_STEP_TIMES,
  readForm,
  RETIRED_NUMBERS,
  ROLES,
  SKIPPABLE_BIT,
  TXN_TYPES,
  assertKnownSchemaVersion,
  txnTypeOf,
  writtenForm,
} from '@waybill/state';
import type { Actor, Fence, LogMark, Role, Txn, TxnDraft, TxnType } from '@waybill/state';
import { BadTxnError, UnknownTxnError } from './errors.js';

/**
 * A transaction as a message: the envelope in headers, the payload as JSON in the body. The index is the message's
 * sequence and is not part of it. Headers are written and read here as one block of text and not through the client's
 * map, which costs more than the rest of a replay.
 */

/** Text that a header carries unchanged. Everything else is percent-encoded: headers are trimmed lines of ASCII. */
const PLAIN_VALUE = /^(?! )[\x20-\x24\x26-\x7e]*(?<! )$/;
/** A text in the form in which a header of the log carries it. */
export const headerValue = (value: string): string =>
  PLAIN_VALUE.test(value) ? value : encodeURIComponent(wellFormed(value));
const unescapeValue = (value: string): string => (value.includes('%') ? decodeURIComponent(value) : value);
/**
 * Whether step times can be a header. They are for display only, so they are omitted if they are malformed or too long.
 */
const isTellable = (stepTimes: string): boolean => stepTimes.length <= MAX_STEP_TIMES && PLAIN_VALUE.test(stepTimes);
const isTraceable = (traceparent: string): boolean => traceparent !== '' && traceparent.length <= MAX_TRACEPARENT_CHARS;
/** Replaces halves of surrogate pairs by U+FFFD, as a JSON body does; encodeURIComponent throws on them. */
const wellFormed = (value: string): string => Buffer.from(value, 'utf8').toString('utf8');

const STATUS_LINE = 'NATS/1.0\r\n';

export interface EncodedTxn {
  /** The header block in NATS' wire form, all ASCII. */
  readonly headers: string;
  readonly body: Buffer;
}

/** Further headers of one publish: its conditions. */
export interface PublishConditions {
  readonly expectedLastSubjectSequence?: number | undefined;
  readonly expectedLastSequence?: number | undefined;
}

/** Cost: one JSON.stringify of the payload and about 400 bytes of headers. */
export function encodeTxn(draft: TxnDraft, conditions: PublishConditions = {}): EncodedTxn {
  const steps = draft.stepTimes && isTellable(draft.stepTimes) ? `Waybill-Steps: ${draft.stepTimes}\r\n` : '';
  let headers =
    `${STATUS_LINE}Nats-Msg-Id: ${headerValue(draft.requestId)}\r\n` +
    `Waybill-Type: ${TXN_TYPES[draft.type].number}\r\n` +
    `Waybill-Name: ${draft.type}\r\n` +
    `Waybill-Time: ${draft.timeNs}\r\n` +
    steps +
    `Waybill-Schema: ${draft.schemaVersion}\r\n` +
    `Waybill-Actor: ${headerValue(JSON.stringify(draft.actor))}\r\n`;
  if (draft.namespace !== '') headers += `Waybill-Namespace: ${headerValue(draft.namespace)}\r\n`;
  if (draft.region !== '') headers += `Waybill-Region: ${headerValue(draft.region)}\r\n`;
  if (draft.reason !== '') headers += `Waybill-Reason: ${headerValue(draft.reason)}\r\n`;
  if (draft.fence) headers += `Waybill-Role: ${draft.fence.role}\r\nWaybill-Epoch: ${draft.fence.epoch}\r\n`;
  if (draft.traceparent && isTraceable(draft.traceparent))
    headers += `traceparent: ${headerValue(draft.traceparent)}\r\n`;
  if (conditions.expectedLastSubjectSequence !== undefined)
    headers += `Nats-Expected-Last-Subject-Sequence: ${conditions.expectedLastSubjectSequence}\r\n`;
  if (conditions.expectedLastSequence !== undefined)
    headers += `Nats-Expected-Last-Sequence: ${conditions.expectedLastSequence}\r\n`;
  return { headers: `${headers}\r\n`, body: Buffer.from(JSON.stringify(writtenForm(draft)), 'utf8') };
}

/** Fields of a header block that differ from message to message, as the block has them. */
interface OwnFields {
  readonly requestId: string;
  readonly type: string;
  readonly name: string;
  readonly time: string;
  readonly stepTimes: string;
  readonly schema: string;
  readonly traceparent: string;
}

/** All fields as the headers have them; names that this version does not know are omitted. */
interface EnvelopeFields extends OwnFields {
  readonly actor: string;
  readonly namespace: string;
  readonly region: string;
  readonly reason: string;
  readonly role: string;
  readonly epoch: string;
}

const FIELD_OF: ReadonlyMap<string, keyof EnvelopeFields> = new Map([
  ['Nats-Msg-Id', 'requestId'],
  ['Waybill-Type', 'type'],
  ['Waybill-Name', 'name'],
  ['Waybill-Time', 'time'],
  ['Waybill-Steps', 'stepTimes'],
  ['Waybill-Schema', 'schema'],
  ['Waybill-Actor', 'actor'],
  ['Waybill-Namespace', 'namespace'],
  ['Waybill-Region', 'region'],
  ['Waybill-Reason', 'reason'],
  ['Waybill-Role', 'role'],
  ['Waybill-Epoch', 'epoch'],
  ['traceparent', 'traceparent'],
]);

/**
 * Matches a block as `encodeTxn` writes it: its own fields, and as one text the headers that a writer puts on all its
 * messages. One pattern reads it in a fraction of the time of reading line by line.
 */
const OWN_BLOCK =
  /^NATS\/1\.0\r\nNats-Msg-Id: (.*)\r\nWaybill-Type: (.*)\r\nWaybill-Name: (.*)\r\nWaybill-Time: (.*)\r\n(?:Waybill-Steps: (.*)\r\n)?Waybill-Schema: (.*)\r\n(Waybill-Actor: .*\r\n(?:Waybill-.*\r\n)*)(?:traceparent: (.*)\r\n)?(?:Nats-Expected-.*\r\n)*\r\n$/;

function ownFields(found: RegExpExecArray): OwnFields {
  return {
    requestId: unescapeValue(found[1] ?? ''),
    type: found[2] ?? '',
    name: found[3] ?? '',
    time: found[4] ?? '',
    stepTimes: found[5] ?? '',
    schema: found[6] ?? '',
    traceparent: unescapeValue(found[8] ?? ''),
  };
}

/** Reads blocks of other writers: headers in any order, and unknown ones among them. */
function fieldsLineByLine(block: string): EnvelopeFields {
  const fields: Record<keyof EnvelopeFields, string> = {
    requestId: '',
    type: '',
    name: '',
    time: '',
    stepTimes: '',
    schema: '',
    actor: '',
    namespace: '',
    region: '',
    reason: '',
    role: '',
    epoch: '',
    traceparent: '',
  };
  let at = block.indexOf('\r\n') + 2;
  while (at > 1 && at < block.length) {
    let end = block.indexOf('\r\n', at);
    if (end < 0) end = block.length;
    const colon = block.indexOf(':', at);
    if (colon > at && colon < end) {
      const field = FIELD_OF.get(block.slice(at, colon));
      if (field !== undefined) {
        const from = block.charCodeAt(colon + 1) === 32 ? colon + 2 : colon + 1;
        const value = block.slice(from, end);
        fields[field] = field === 'stepTimes' ? value : unescapeValue(value);
      }
    }
    at = end + 2;
  }
  return fields;
}

const roles: ReadonlySet<string> = new Set(ROLES);
const isRole = (text: string): text is Role => roles.has(text);

function fenceOf(fields: Pick<EnvelopeFields, 'role' | 'epoch'>): Fence | undefined {
  if (fields.role === '' && fields.epoch === '') return undefined;
  if (!isRole(fields.role)) throw new Error(`unknown role "${fields.role}"`);
  return { role: fields.role, epoch: storableNumber('epoch', fields.epoch) };
}

function wholeNumber(what: string, text: string): number {
  const n = Number(text);
  if (text === '' || !Number.isInteger(n) || n < 0) throw new Error(`${what} "${text}" is not a whole number`);
  return n;
}

/**
 * As `wholeNumber`; a number that projections cannot store becomes the largest that they can, in every copy of the
 * state.
 */
const storableNumber = (what: string, text: string): number => Math.min(wholeNumber(what, text), MAX_BIGINT);

const ACTOR_KINDS: ReadonlySet<unknown> = new Set<Actor['Kind']>(['token', 'node', 'role', 'anonymous']);
const NOBODY: Actor = { Kind: 'anonymous', ID: '', Name: '' };

/** An actor names the author of a transaction. An actor of unknown form is read as nobody, and stops no reader. */
function actorOf(json: unknown): Actor {
  if (typeof json !== 'object' || json === null) return NOBODY;
  const { Kind, ID, Name } = json as Partial<Actor>;
  if (Kind === undefined || !ACTOR_KINDS.has(Kind) || typeof ID !== 'string' || typeof Name !== 'string') return NOBODY;
  return { Kind, ID, Name };
}

/** The fields that a writer puts on all its messages. */
type Writer = Pick<Txn, 'actor' | 'namespace' | 'region' | 'reason' | 'fence'>;

interface KnownWriter {
  readonly text: string;
  readonly writer: Writer;
}

/**
 * Slots of the cache of writers, by the text of their headers: consecutive messages often have the same writer. A power
 * of two.
 */
const WRITER_PLACES = 512;
const knownWriters: (KnownWriter | undefined)[] = [];
/** The hash reads one character in this many of a writer's text: an actor's ID has 36. */
const PLACE_STEP = 8;

/**
 * The cache slot of a writer. A `Map` would read the whole text, which takes longer than comparing it with one other.
 */
function cacheSlotOf(text: string): number {
  let hash = text.length;
  for (let i = text.length - 1; i >= 0; i -= PLACE_STEP) hash = Math.imul(hash ^ text.charCodeAt(i), 16_777_619);
  return (hash ^ (hash >>> 9)) & (WRITER_PLACES - 1);
}

/** @param text the writer's part that `OWN_BLOCK` matched, undefined if the block has another form */
function writerOf(block: string, text: string | undefined): Writer {
  if (text === undefined) return readWriter(block);
  const place = cacheSlotOf(text);
  const known = knownWriters[place];
  if (known?.text === text) return known.writer;
  const writer = readWriter(block);
  knownWriters[place] = { text, writer };
  return writer;
}

function readWriter(block: string): Writer {
  const fields = fieldsLineByLine(block);
  return {
    actor: Object.freeze(actorOf(JSON.parse(fields.actor))),
    namespace: fields.namespace,
    region: fields.region,
    reason: fields.reason,
    fence: fenceOf(fields),
  };
}

/** A transaction in the form of a message. */
export interface WrittenTxn {
  /** All ASCII. */
  readonly headers: string;
  readonly body: Uint8Array | string;
}

/** Decodes the two parts of a message as `readTxn` does. */
export function decodeTxn(index: number, headers: string, body: Uint8Array | string): Txn {
  return readTxn(index, { headers, body });
}

/**
 * The transaction of a message. A type that may be skipped, or was retired, comes back as `Ignore`: it takes its index
 * and has no effect (ST-8).
 * @param types the types that the caller needs; the others come as `Ignore` too, and their bodies are not read
 * @throws UnknownTxnError, BadTxnError: the reader has to stop
 */
export function readTxn(index: number, written: WrittenTxn, types?: ReadonlySet<TxnType>): Txn {
  let number = -1;
  let name = '';
  try {
    const { headers } = written;
    const own = OWN_BLOCK.exec(headers);
    const fields = own ? ownFields(own) : fieldsLineByLine(headers);
    name = fields.name;
    number = wholeNumber('type', fields.type);
    const known = txnTypeOf(number) ?? skippableType(number);
    if (known === undefined) throw new UnknownTxnError(index, number, name);
    const type = types && !types.has(known) ? 'Ignore' : known;
    const writer = writerOf(headers, own?.[7]);
    const schemaVersion = wholeNumber('schema version', fields.schema);
    const skip = type === 'Ignore';
    if (!skip) assertKnownSchemaVersion({ type, schemaVersion, index });
    return {
      index,
      type,
      payload: skip ? {} : readForm(type, payloadOf(written.body)),
      timeNs: storableNumber('time', fields.time),
      namespace: writer.namespace,
      region: writer.region,
      actor: writer.actor,
      reason: writer.reason,
      requestId: detachedCopy(fields.requestId),
      fence: writer.fence,
      traceparent: isTraceable(fields.traceparent) ? fields.traceparent : undefined,
      stepTimes: fields.stepTimes !== '' && fields.stepTimes.length <= MAX_STEP_TIMES ? fields.stepTimes : undefined,
      schemaVersion: skip ? TXN_TYPES.Ignore.schemaVersion : schemaVersion,
    } as Txn;
  } catch (e) {
    if (e instanceof UnknownTxnError) throw e;
    throw new BadTxnError(index, `${name || `type ${number}`}: ${errorText(e)}`, {
      cause: e,
    });
  }
}

/** Identifies the transaction of a message without decoding the whole message; undefined if its headers do not. */
export function readMark(index: number, header: (name: string) => string): LogMark | undefined {
  const time = header('Waybill-Time');
  const timeNs = Number(time);
  if (time === '' || !Number.isFinite(timeNs)) return undefined;
  return { index, requestId: unescapeValue(header('Nats-Msg-Id')), timeNs };
}

/**
 * A copy of the string that does not keep the whole header block in memory: request IDs are kept for minutes (ST-6).
 */
const detachedCopy = (text: string): string => ` ${text}`.slice(1);

const skippableType = (number: number): TxnType | undefined =>
  (number & SKIPPABLE_BIT) !== 0 || RETIRED_NUMBERS.has(number) ? 'Ignore' : undefined;

const utf8 = new TextDecoder('utf-8', { fatal: true });

function payloadOf(body: Uint8Array | string): object {
  const payload: unknown = JSON.parse(typeof body === 'string' ? body : utf8.decode(body));
  if (typeof payload !== 'object' || payload === null || Array.isArray(payload))
    throw new Error('the payload is no JSON object');
  return payload;
}
