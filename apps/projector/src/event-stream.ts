import type { FramePart } from '@waybill/projection';

/**
 * EventTail is the end of EVENTS: its last sequence, and the part and index of the frame there. The index is 0 if there
 * is no frame.
 */
export interface EventTail {
  readonly sequence: number;
  /**
   * The sequence that the next message has to follow: `sequence`, or the sequence of a message that was removed behind
   * it.
   */
  readonly end: number;
  readonly index: number;
  /** The time of the frame's transaction in Unix nanoseconds. */
  readonly timeNs: number;
  readonly part: number;
  readonly parts: number;
}

/** The members of a tail without a frame. */
export const NO_FRAME = { index: 0, timeNs: 0, part: 0, parts: 0 } as const;

/** AddressedPart is a part of a frame with its address. */
export interface AddressedPart extends FramePart {
  /** The type of the transaction; `namespace` is its namespace. */
  readonly txnType: string;
  readonly namespace: string;
}

/** EventStream is the stream EVENTS as the projector writes it. */
export interface EventStream {
  /** @throws if the stream does not answer */
  tail(): Promise<EventTail>;
  /**
   * Returns the reason why the stream can never take this part, however often it is sent. The result is undefined if
   * the stream can take it.
   */
  refusalOf(part: AddressedPart): string | undefined;
  /**
   * Appends parts behind `sequence`, in order. It appends all of them or the first few, and returns the last sequence.
   * @throws if the stream does not answer or does not end at `sequence`; the caller then reads `tail` again
   */
  append(parts: readonly AddressedPart[], sequence: number): Promise<number>;
  /**
   * Calls the listener when the connection is back, because the stream may have lost its end meanwhile. @returns a
   * function that unsubscribes
   */
  onReturn(listener: () => void): () => void;
}

/** Returns the parts that are not in the stream yet: those behind its last one (EV-74). */
export function missingParts(parts: readonly AddressedPart[], tail: EventTail): AddressedPart[] {
  return parts.filter((one) => one.index > tail.index || (one.index === tail.index && one.part > tail.part));
}
