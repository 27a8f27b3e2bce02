/** Change is one changed object, as the event stream reports it (EV-1). */
export interface Change {
  readonly index: number;
  readonly topic: string;
  /** The type of the event: `JobRegistered`, `AllocationUpdated`. */
  readonly type: string;
  readonly key: string;
  readonly namespace: string;
  /** The job's ID and the deployment's, for allocations and evaluations. */
  readonly filterKeys: readonly string[];
  /** The object after the change, under the name of its kind. */
  readonly payload: Readonly<Record<string, unknown>>;
}

interface EventOnTheWire {
  readonly Topic: string;
  readonly Type: string;
  readonly Key: string;
  readonly Namespace: string;
  readonly FilterKeys: readonly string[] | null;
  readonly Index: number;
  readonly Payload: Readonly<Record<string, unknown>>;
}

/** StreamLine is the content of a line of the stream. A heartbeat has no changes and index 0 (EV-28). */
export interface StreamLine {
  readonly index: number;
  readonly changes: readonly Change[];
}

/** @throws SyntaxError if the line is not JSON */
export function readLine(line: string): StreamLine {
  const { Index = 0, Events } = JSON.parse(line) as { Index?: number; Events?: readonly EventOnTheWire[] | null };
  const changes = (Events ?? []).map((event) => ({
    index: event.Index,
    topic: event.Topic,
    type: event.Type,
    key: event.Key,
    namespace: event.Namespace,
    filterKeys: event.FilterKeys ?? [],
    payload: event.Payload,
  }));
  return { index: Index, changes };
}

/** Returns the whole lines of the received text, and the rest, which waits for its end. */
export function splitLines(
  pending: string,
  chunk: string,
): { readonly lines: readonly string[]; readonly rest: string } {
  const parts = (pending + chunk).split('\n');
  const rest = parts.pop() ?? '';
  return { lines: parts.filter((line) => line.trim() !== ''), rest };
}
