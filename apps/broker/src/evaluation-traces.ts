/** Evaluations whose trace is remembered; beyond it the oldest are forgotten, and begin a trace of their own. */
export const MAX_REMEMBERED_TRACES = 10_000;

/**
 * The trace of each evaluation: that of the transaction that carried it, if this process saw the transaction live. Not
 * durable. Memory: at most MAX_REMEMBERED_TRACES entries.
 */
export class EvaluationTraces {
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

  traceparentOf(evalId: string): string | undefined {
    return this.traceparents.get(evalId);
  }

  forget(evalId: string): void {
    this.traceparents.delete(evalId);
  }

  clear(): void {
    this.traceparents.clear();
  }
}
