import { errorText } from '@waybill/model';
import { partsOf, type SharedTexts } from '@waybill/projection';
import { type Applied, type EventFrame, eventsOf, type StreamEvent, TXN_TYPES } from '@waybill/state';
import type { AddressedPart, EventStream } from './event-stream.js';

/** The largest number of events in a substitute frame. The frame then fits the smallest message limit. */
export const MAX_STANDING_EVENTS = 100;
/** The largest number of characters of a name in a substitute frame. */
export const MAX_STANDING_NAME = 200;

/** FrameParts is the messages of a transaction's events. */
export interface FrameParts {
  readonly parts: readonly AddressedPart[];
  /** The reason why a substitute replaces the frame, if it does. */
  readonly replaced?: string;
}

/**
 * Returns the messages of a transaction's events, in order. They follow from the transaction alone, so they are the
 * same whenever they are made (EV-13). If a frame cannot be made, or EVENTS could never take it, a substitute replaces
 * it: the same events without their objects and with the reason. Followers see no gap, and read the objects from the
 * API.
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

/** Returns the events of the changes that can be described. The list is empty if none can. */
function describable(applied: Applied): StreamEvent[] {
  return applied.changes.flatMap((change) => {
    try {
      return eventsOf({ ...applied, changes: [change] })?.Events ?? [];
    } catch {
      return []; // the frame says why there is something missing
    }
  });
}
