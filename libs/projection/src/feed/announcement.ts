import type { Applied, Verdict } from '@waybill/state';
import { type WatchKey, watchKeysOf, wholeTables } from '../reading/watch-keys.js';

/** Core NATS subject of the projector's announcements. A lost one does no harm: see ProjectionFeed. */
export const ANNOUNCEMENT_SUBJECT = 'waybill.projected';
/**
 * Most bytes of one announcement. Longer ones are split. This is well below NATS' smallest usual message limit of 1 MB.
 */
export const MAX_ANNOUNCEMENT_BYTES = 256 * 1024;
/** Most keys of one transaction. Beyond it, only the tables are named. */
export const MAX_ANNOUNCED_KEYS = 1_000;

/** One projected transaction. `verdict` is absent if it was too large. Then it must be read from PostgreSQL. */
export interface AnnouncedTxn {
  readonly index: number;
  readonly requestId: string;
  readonly verdict?: Verdict;
  readonly keys: readonly WatchKey[];
}

/**
 * Announces that PostgreSQL has every index up to `to`, with the transactions above `from`, in order. If `from` equals
 * `to`, it only tells the position, which the projector repeats while idle.
 */
export interface Announcement {
  readonly from: number;
  readonly to: number;
  /** Time in unix milliseconds when PostgreSQL had them. */
  readonly appliedAtMs: number;
  /** Last sequence of EVENTS at that time. Every frame up to `to` is at or before it. */
  readonly eventSequence: number;
  readonly entries: readonly AnnouncedTxn[];
}

export type AnnouncementMeta = Pick<Announcement, 'appliedAtMs' | 'eventSequence'>;

/** Formats an announcement without transactions. */
export const standingAt = (index: number, meta: AnnouncementMeta): string =>
  encode({ from: index, to: index, ...meta, entries: [] });

/** Formats the announcements of consecutive projected transactions, in order. O(changes). */
export function announcementsOf(applied: readonly Applied[], meta: AnnouncementMeta): string[] {
  const messages: string[] = [];
  let entries: AnnouncedTxn[] = [];
  let bytes = 0;
  const flush = (): void => {
    const first = entries[0];
    const last = entries.at(-1);
    if (first && last) messages.push(encode({ from: first.index - 1, to: last.index, ...meta, entries }));
    entries = [];
    bytes = 0;
  };
  for (const one of applied) {
    const { entry, size } = bounded(entryOf(one));
    if (bytes + size > MAX_ANNOUNCEMENT_BYTES) flush();
    entries.push(entry);
    bytes += size;
  }
  flush();
  return messages;
}

/** @throws SyntaxError for a newer projector's announcement or a foreign message */
export function decodeAnnouncement(text: string): Announcement {
  const decoded: unknown = JSON.parse(text);
  if (!isAnnouncement(decoded)) throw new SyntaxError('not an announcement of the projector');
  return decoded;
}

const encode = (announcement: Announcement): string => JSON.stringify(announcement);

function entryOf(applied: Applied): AnnouncedTxn {
  const keys = watchKeysOf(applied.changes, MAX_ANNOUNCED_KEYS);
  return { index: applied.index, requestId: applied.txn.requestId, verdict: applied.verdict, keys };
}

function bounded(entry: AnnouncedTxn): { entry: AnnouncedTxn; size: number } {
  const size = Buffer.byteLength(JSON.stringify(entry));
  if (size <= MAX_ANNOUNCEMENT_BYTES) return { entry, size };
  const short: AnnouncedTxn = {
    index: entry.index,
    requestId: entry.requestId,
    keys: wholeTables(entry.keys.map(([table]) => table)),
  };
  return { entry: short, size: JSON.stringify(short).length };
}

function isAnnouncement(value: unknown): value is Announcement {
  if (typeof value !== 'object' || value === null) return false;
  return (
    'from' in value &&
    typeof value.from === 'number' &&
    'to' in value &&
    typeof value.to === 'number' &&
    'appliedAtMs' in value &&
    typeof value.appliedAtMs === 'number' &&
    'eventSequence' in value &&
    typeof value.eventSequence === 'number' &&
    'entries' in value &&
    Array.isArray(value.entries)
  );
}
