import { errorText } from '@waybill/model';
import { partsOf, type SharedTexts } from '@waybill/projection';
import { type Applied, type EventFrame, eventsOf, type StreamEvent, TXN_TYPES } from '@waybill/state';
import type { AddressedPart, EventStream } from './event-stream.js';

/** Events of a frame that stands for another, at most; the frame then fits the smallest message limit. */
export const MAX_STANDING_EVENTS = 100;
/** Characters of a name in them. */
export const MAX_STANDING_NAME = 200;

/** The messages of a transaction's events. */
export interface FrameParts {
  readonly parts: readonly AddressedPart[];
  /** Why another frame stands for the real one, if it does. */
  readonly replaced?: string;
}

/**
 * The messages of a transaction's events, in order: the same whenever they are made, for they follow from it alone (EV-13).
 * A frame that cannot be made, or that EVENTS could never take, is replaced by one that says so: the same events without
 * their objects. Whoever follows sees no gap, and reads the objects from the API.
 */
export function framePartsOf(applied: Applied, texts: SharedTexts, refusalOf: EventStream['refusalOf']): FrameParts {
  const { type, namespace } = applied.txn;
  const addressed = (frame: EventFrame): AddressedPart[] =>
    partsOf(frame, texts).map((part) => ({ ...part, txnType: type, namespace }));
  let frame: EventFrame | null = null;
  let replaced: string | undefined;
  try {
    frame = eventsOf(applied);
    const parts = frame ? addressed(frame) : [];
    replaced = parts.map(refusalOf).find((reason) => reason !== undefined);
    if (replaced === undefined) return { parts };
  } catch (error) {
    replaced = errorText(error);
  }
  return { parts: addressed(standIn(applied, frame, replaced)), replaced };
}

function standIn(applied: Applied, frame: EventFrame | null, reason: string): EventFrame {
  const { txn, index } = applied;
  const Type = TXN_TYPES[txn.type].eventType ?? txn.type;
  const Payload = { Unavailable: reason.slice(0, MAX_STANDING_NAME) };
  const Events = (frame?.Events ?? describable(applied))
    .slice(0, MAX_STANDING_EVENTS)
    .map(({ Topic, Key, Namespace, FilterKeys }) => ({
      Topic,
      Type,
      Key: Key.slice(0, MAX_STANDING_NAME),
      Namespace: Namespace.slice(0, MAX_STANDING_NAME),
      FilterKeys: FilterKeys?.map((key) => key.slice(0, MAX_STANDING_NAME)) ?? null,
      Index: index,
      Payload,
    }));
  return { Index: index, Time: txn.timeNs, Events };
}

/** The events of those changes that can be described; empty: none can. */
function describable(applied: Applied): StreamEvent[] {
  return applied.changes.flatMap((change) => {
    try {
      return eventsOf({ ...applied, changes: [change] })?.Events ?? [];
    } catch {
      return []; // the frame says why there is something missing
    }
  });
}
