import { type EventStorage, READ_BYTES } from './event-window.js';
import { FrameAssembler, type StoredFrame } from './event-frame.js';
import { EVERYTHING_NAME, type Interest, interestName, namesOf } from './event-routes.js';

/** Lines of neighbouring frames lie in one piece of memory of so many bytes, to be sent together. */
export const BLOCK_BYTES = 64 * 1024;
/** What a byte of the header costs once its events are looked up, bytes. */
const ABOUT_WEIGHT = 8;

/**
 * Consecutive messages of EVENTS as whole frames, read and decoded once for all who pass by. Never ends inside a frame.
 * Memory: its lines in blocks of BLOCK_BYTES, so that a slow connection holds on to a block and not to the page; whom its
 * events are about, from the first reader on who does not want everything.
 */
export class EventPage {
  /** Estimate of the memory it takes. */
  readonly bytes: number;
  private byName: ReadonlyMap<string, readonly number[]> | undefined;

  constructor(
    /** Sequence asked for. */
    readonly from: number,
    /** Sequence of the first message there was: a higher one if those before have been trimmed. */
    readonly begin: number,
    /** Sequence of the last message. */
    readonly to: number,
    readonly frames: readonly StoredFrame[],
  ) {
    this.bytes = frames.reduce((sum, { line, aboutLength }) => sum + line.length + aboutLength * ABOUT_WEIGHT, 0);
  }

  /**
   * Frames with this index or a higher one that have such events, in order. O(interests + found), never O(frames), for
   * who does not want everything (EV-72).
   */
  concerning(interests: readonly Interest[], index: number): readonly StoredFrame[] {
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
 * Reads the page that begins with this message; undefined when there is no message from there on. Empty, and ending before
 * it begins, when only the beginning of a frame is there.
 * @param messages at most, unless a frame has more parts
 * @throws when the stream cannot be reached
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
      const frame = assembler.add(part);
      if (frame) frames.push(frame);
      if (!assembler.isInsideFrame) to = part.sequence;
    }
  }
  return new EventPage(from, begin ?? from, to, inBlocks(frames));
}

/** The same frames, their lines next to each other. */
function inBlocks(frames: readonly StoredFrame[]): StoredFrame[] {
  return batchesOf(frames).flatMap((batch) => {
    const block = Buffer.concat(batch.map(({ line }) => line));
    let at = 0;
    return batch.map((frame) => frame.withLine(block.subarray(at, (at += frame.line.length))));
  });
}

/** Neighbours in groups of at most BLOCK_BYTES, a larger frame alone. */
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
