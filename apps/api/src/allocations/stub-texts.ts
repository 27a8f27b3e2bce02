import { encodeAllocationStub, type Allocation, type AllocationStubOptions } from '@waybill/model';
import type { KeptRows } from '@waybill/projection';
import { PrintedJson } from '../http/printed-json.js';

/** Bytes of stubs kept by one process, all together. */
export const MAX_STUB_BYTES = 64 * 1024 * 1024;

interface KeptText {
  readonly modifyIndex: number;
  readonly text: Buffer;
}

/**
 * The rows of allocation lists as the texts they are answered with: most of what a list says it has said before, as who
 * looks at a cluster asks again and again. A text is good for as long as its allocation keeps its index.
 * Limits: MAX_STUB_BYTES; beyond it the longest kept goes first. Cost of a list: one copy of each text.
 */
export class StubTexts {
  private readonly kept = new Map<string, KeptText>();
  private bytes = 0;

  constructor(private readonly maxBytes = MAX_STUB_BYTES) {}

  /** Bytes kept. */
  get size(): number {
    return this.bytes;
  }

  of(options: AllocationStubOptions): KeptRows<Allocation, Buffer> {
    const form = `${options.resources === true}${options.taskStates !== false}`;
    return {
      get: (id, modifyIndex) => {
        const found = this.kept.get(`${id} ${form}`);
        return found?.modifyIndex === modifyIndex ? found.text : undefined;
      },
      make: (alloc) => {
        const text = Buffer.from(JSON.stringify(encodeAllocationStub(alloc, options)));
        this.keep(`${alloc.ID} ${form}`, { modifyIndex: alloc.ModifyIndex, text });
        return text;
      },
    };
  }

  private keep(key: string, made: KeptText): void {
    this.forget(key);
    this.kept.set(key, made);
    this.bytes += made.text.length;
    for (const oldest of this.kept.keys()) {
      if (this.bytes <= this.maxBytes) break;
      this.forget(oldest);
    }
  }

  private forget(key: string): void {
    this.bytes -= this.kept.get(key)?.text.length ?? 0;
    this.kept.delete(key);
  }
}

const [OPEN, COMMA, CLOSE] = ['[', ',', ']'].map((char) => char.charCodeAt(0)) as [number, number, number];

/** A JSON list of these. */
export function printedList(texts: readonly Buffer[]): PrintedJson {
  const separators = Math.max(0, texts.length - 1);
  const list = Buffer.allocUnsafe(texts.reduce((bytes, text) => bytes + text.length, separators + 2));
  let at = list.writeUInt8(OPEN, 0);
  texts.forEach((text, n) => {
    if (n > 0) at = list.writeUInt8(COMMA, at);
    at += text.copy(list, at);
  });
  list.writeUInt8(CLOSE, at);
  return new PrintedJson(list);
}
