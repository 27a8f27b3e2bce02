import { type EventStorage, READ_BYTES } from './event-window.js';
import { FrameAssembler, type StoredFrame } from './event-frame.js';
import { EVERYTHING_NAME, type Interest, interestName, namesOf } from './event-routes.js';

/** Size of a block of memory with the lines of consecutive frames, which are sent together. */
export const BLOCK_BYTES = 64 * 1024;
/** Estimated bytes of memory for each byte of the header, once its events are indexed. */
const ABOUT_WEIGHT = 8;

/**
 * Consecutive messages of EVENTS as whole frames, read and decoded once for all readers. A page never ends inside a
 * frame. Memory: its lines in blocks of BLOCK_BYTES, so a slow connection keeps a block instead of the page, and an
 * index of its events after the first reader that does not want all of them.
 */
export class EventPage {
  /** Estimate of its memory. */
  readonly bytes: number;
  private byName: ReadonlyMap<string, readonly number[]> | undefined;

  constructor(
    /** Requested sequence. */
    readonly from: number,
    /** Sequence of the first message, which is higher if earlier ones were trimmed. */
    readonly begin: number,
    /** Sequence of the last message. */
    readonly to: number,
    readonly frames: readonly StoredFrame[],
  ) {
    this.bytes = frames.reduce((sum, { line, aboutLength }) => sum + line.length + aboutLength * ABOUT_WEIGHT, 0);
  }

  /**
   * Returns the frames from this index on that have such events, in order. Cost for a reader that does not want all
   * events: O(interests + found), never O(frames) (EV-72).
   */
  framesConcerning(interests: readonly Interest[], index: number): readonly StoredFrame[] {
    const names = interests.map((interest) => interestName(...interest));
    if (names.includes(EVERYTHING_NAME)) return this.frames.filter((frame) => frame.index >= index);
    this.byName ??= this.positionsByName();
    const found = new Set<number>();
    for (const name of names) for (const at of this.byName.get(name) ?? []) found.add(at);
    const frames = [...found].sort((a, b) => a - b).flatMap((at) => this.frames[at] ?? []);
    return frames.filter((frame) => frame.index >= index);
  }

  private positionsByName(): ReadonlyMap<string, readonly number[]> {
    const positions = new Map<string, number[]>();
    for (const [at, frame] of this.frames.entries())
      for (const event of frame.events)
        for (const name of namesOf(event)) {
          const known = positions.get(name);
          if (!known) positions.set(name, [at]);
          else if (known.at(-1) !== at) known.push(at);
        }
    return positions;
  }
}

/**
 * Reads the page that starts with this message. Returns undefined if there is no message from there on. The page is
 * empty and ends before its start if only the beginning of a frame exists.
 * @param messages most messages, unless a frame has more parts
 * @throws if the stream cannot be reached
 */
export async function readPage(storage: EventStorage, from: number, messages: number): Promise<EventPage | undefined> {
  const assembler = new FrameAssembler();
  const frames: StoredFrame[] = [];
  let begin: number | undefined;
  let to = from - 1;
  for (let next = from; to < from;) {
    const parts = await storage.readParts(next, messages, READ_BYTES);
    if (parts.length === 0 && begin === undefined) return undefined;
    if (parts.length === 0) break;
    begin ??= parts[0]?.sequence;
    for (const part of parts) {
      next = part.sequence + 1;
      const frame = assembler.addPart(part);
      if (frame) frames.push(frame);
      if (!assembler.isInsideFrame) to = part.sequence;
    }
  }
  return new EventPage(from, begin ?? from, to, inBlocks(frames));
}

/** Copies the lines of the frames next to each other. */
function inBlocks(frames: readonly StoredFrame[]): StoredFrame[] {
  return batchesOf(frames).flatMap((batch) => {
    const block = Buffer.concat(batch.map(({ line }) => line));
    let at = 0;
    return batch.map((frame) => frame.withLine(block.subarray(at, (at += frame.line.length))));
  });
}

/** Groups consecutive frames up to BLOCK_BYTES. A larger frame is a group of its own. */
export function batchesOf(frames: readonly StoredFrame[]): StoredFrame[][] {
  const batches: StoredFrame[][] = [];
  let bytes = 0;
  for (const frame of frames) {
    const current = batches.at(-1);
    if (current && bytes + frame.line.length <= BLOCK_BYTES) current.push(frame);
    else {
      batches.push([frame]);
      bytes = 0;
    }
    bytes += frame.line.length;
  }
  return batches;
}
