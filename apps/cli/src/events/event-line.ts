/** The members of an event that this program reads (API-402). */
export interface StreamEvent {
  readonly Topic: string;
  readonly Type: string;
  readonly Key: string;
  readonly Namespace: string;
  readonly FilterKeys?: readonly string[] | null;
  readonly Payload?: Readonly<Record<string, unknown>> | null;
}

/** One line: all matching events of one index. `Time` is in unix nanoseconds if the server sends it (API-263). */
export interface EventLine {
  readonly Index: number;
  readonly Time?: number;
  readonly Events: readonly StreamEvent[];
  /** The unchanged text of the line. */
  readonly text: string;
}

export type StreamLine = { readonly kind: 'heartbeat' } | { readonly kind: 'events'; readonly line: EventLine };

/** @throws SyntaxError if the text is not a line of an event stream */
export function parseLine(text: string): StreamLine {
  const parsed = JSON.parse(text) as Partial<EventLine>;
  const { Index, Time, Events } = parsed;
  if (Index === undefined) return { kind: 'heartbeat' };
  return { kind: 'events', line: { Index, ...(Time === undefined ? {} : { Time }), Events: Events ?? [], text } };
}

/** Yields the complete lines of a stream. An incomplete last line is dropped (CL-1004). Holds one line. */
export async function* completeLines(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let held = '';
  for await (const chunk of body) {
    const parts = (held + decoder.decode(chunk, { stream: true })).split('\n');
    held = parts.pop() ?? '';
    for (const part of parts) if (part.trim() !== '') yield part;
  }
}
