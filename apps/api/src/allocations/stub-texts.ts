import { encodeAllocationStub, type Allocation, type AllocationStubOptions } from '@waybill/model';
import type { KeptRows } from '@waybill/projection';
import { PrintedJson } from '../http/printed-json.js';

/** The largest size in bytes of all stubs that one process keeps. */
export const MAX_STUB_BYTES = 64 * 1024 * 1024;

interface KeptText {
  readonly modifyIndex: number;
  readonly text: Buffer;
}

/**
 * StubTexts keeps the rows of allocation lists as JSON texts. Clients read the same lists again and again, so most rows
 * of a list are unchanged. A text is valid as long as the ModifyIndex of its allocation does not change. Limits:
 * MAX_STUB_BYTES; beyond it the oldest text is dropped first. Cost of a list: one copy of each text.
 */
export class StubTexts {
  private readonly kept = new Map<string, KeptText>();
  private bytes = 0;

  constructor(private readonly maxBytes = MAX_STUB_BYTES) {}

  /** The bytes of the kept texts. */
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
        this.storeText(`${alloc.ID} ${form}`, { modifyIndex: alloc.ModifyIndex, text });
        return text;
      },
    };
  }

  private storeText(key: string, made: KeptText): void {
    this.removeText(key);
    this.kept.set(key, made);
    this.bytes += made.text.length;
    for (const oldest of this.kept.keys()) {
      if (this.bytes <= this.maxBytes) break;
      this.removeText(oldest);
    }
  }

  private removeText(key: string): void {
    this.bytes -= this.kept.get(key)?.text.length ?? 0;
    this.kept.delete(key);
  }
}

const [OPEN, COMMA, CLOSE] = ['[', ',', ']'].map((char) => char.charCodeAt(0)) as [number, number, number];

/** Joins texts to a JSON list. */
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
