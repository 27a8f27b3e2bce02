/** Evaluations whose trace is remembered; of more, the oldest are forgotten and begin a trace of their own. */
export const MAX_REMEMBERED_TRACES = 10_000;

/** Which trace an evaluation belongs to: that of the transaction that carried it, seen live. Not durable. */
export class TraceMemory {
  private readonly traceparents = new Map<string, string>();

  remember(evalId: string, traceparent: string | undefined): void {
    if (traceparent === undefined || this.traceparents.has(evalId)) return;
    this.traceparents.set(evalId, traceparent);
    if (this.traceparents.size <= MAX_REMEMBERED_TRACES) return;
    for (const oldest of this.traceparents.keys()) {
      this.traceparents.delete(oldest);
      break;
    }
  }

  of(evalId: string): string | undefined {
    return this.traceparents.get(evalId);
  }

  forget(evalId: string): void {
    this.traceparents.delete(evalId);
  }

  clear(): void {
    this.traceparents.clear();
  }
}
