import type { FramePart } from '@waybill/projection';

/** The end of EVENTS: its last sequence, and which part of which index lies there. Index 0: nothing does. */
export interface EventTail {
  readonly sequence: number;
  /** What the next message has to follow: `sequence`, or that of what was removed behind it. */
  readonly end: number;
  readonly index: number;
  /** Unix nanoseconds, of the transaction that the frame is of. */
  readonly timeNs: number;
  readonly part: number;
  readonly parts: number;
}

/** Of a tail where there is no frame. */
export const NO_FRAME = { index: 0, timeNs: 0, part: 0, parts: 0 } as const;

/** A part of a frame and where it goes. */
export interface AddressedPart extends FramePart {
  /** Type and namespace of the transaction. */
  readonly txnType: string;
  readonly namespace: string;
}

/** The stream EVENTS, as it is written. */
export interface EventStream {
  /** @throws when the stream does not answer */
  tail(): Promise<EventTail>;
  /** Why the stream can never take this part, however often it is tried; undefined: it can. */
  refusalOf(part: AddressedPart): string | undefined;
  /**
   * Appends the parts behind `sequence`, in order, all or the first few. Answers the last sequence.
   * @throws when the stream does not answer or does not end at `sequence`: then read `tail` again
   */
  append(parts: readonly AddressedPart[], sequence: number): Promise<number>;
  /** Calls when the connection is back: the stream may have lost its end meanwhile. @returns unsubscribe */
  onReturn(listener: () => void): () => void;
}

/** What of these is not in the stream yet (EV-74): the parts behind its last one. */
export function missingParts(parts: readonly AddressedPart[], tail: EventTail): AddressedPart[] {
  return parts.filter((one) => one.index > tail.index || (one.index === tail.index && one.part > tail.part));
}
