/** One changed object, as the event stream tells of it (EV-1). */
export interface Change {
  readonly index: number;
  readonly topic: string;
  /** What happened: `JobRegistered`, `AllocationUpdated`. */
  readonly type: string;
  readonly key: string;
  readonly namespace: string;
  /** Of allocations and evaluations the job's ID and the deployment's. */
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

/** What a line of the stream says. A heartbeat has no changes and index 0 (EV-28). */
export interface StreamLine {
  readonly index: number;
  readonly changes: readonly Change[];
}

/** @throws SyntaxError when the line is no JSON */
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

/** Whole lines of what has come in so far, and the rest, which waits for its end. */
export function splitLines(
  pending: string,
  chunk: string,
): { readonly lines: readonly string[]; readonly rest: string } {
  const parts = (pending + chunk).split('\n');
  const rest = parts.pop() ?? '';
  return { lines: parts.filter((line) => line.trim() !== ''), rest };
}
