import { setTimeout as pause } from 'node:timers/promises';

/** CheckResult says how one check of a plugin ended. */
export interface CheckResult {
  /** The part of the plugin and what it has to do: `tasks: …`. */
  readonly name: string;
  readonly outcome: 'ok' | 'failed' | 'skipped';
  /** The fault, or why the check was skipped, or a remark; empty if there is none. */
  readonly text: string;
  readonly ms: number;
}

/** The longest time of one check. The calls of an agent are more patient, but a person waits here. */
export const CHECK_TIMEOUT_MS = 20_000;

export interface CheckOptions {
  /** The longest time of one check in milliseconds. The default is CHECK_TIMEOUT_MS. */
  readonly timeoutMs?: number;
  /** Receives each result at once. */
  readonly report?: (result: CheckResult) => void;
}

/** CheckFault says what a plugin does wrong. */
export class CheckFault extends Error {
  override readonly name = 'CheckFault';
}

/** SkippedCheck says why a check does not apply to this plugin. */
export class SkippedCheck extends Error {
  override readonly name = 'SkippedCheck';
}

/** @throws CheckFault unless the condition holds */
export function expectThat(condition: boolean, fault: string): asserts condition {
  if (!condition) throw new CheckFault(fault);
}

/** Waits until a condition holds. @throws CheckFault after `withinMs` */
export async function expectSoon(
  condition: () => boolean | Promise<boolean>,
  fault: string,
  withinMs: number,
): Promise<void> {
  for (const endMs = performance.now() + withinMs; ; await pause(POLL_MS)) {
    if (await condition()) return;
    expectThat(performance.now() < endMs, fault);
  }
}

const POLL_MS = 50;

/**
 * Checks runs the checks of a plugin one after the other, and collects their results. A check that throws has failed,
 * one that throws SkippedCheck does not count, and one that returns a text is good with that remark.
 */
export class Checks {
  readonly results: CheckResult[] = [];

  constructor(private readonly options: CheckOptions = {}) {}

  /** Resolves with whether the check was good. Never rejects. */
  async run(name: string, check: (signal: AbortSignal) => Promise<string | void>): Promise<boolean> {
    const begunMs = performance.now();
    const over = new AbortController();
    const { timeoutMs = CHECK_TIMEOUT_MS } = this.options;
    const late = pause(timeoutMs, undefined, { signal: over.signal }).then(() => {
      throw new CheckFault(`no answer within ${timeoutMs / 1_000} s`);
    });
    late.catch(() => {}); // of the check that ended in time
    const outcome = await Promise.race([check(over.signal), late]).then(
      (text) => ({ outcome: 'ok', text: text ?? '' }) as const,
      (error: unknown) => ({
        outcome: error instanceof SkippedCheck ? ('skipped' as const) : ('failed' as const),
        text: error instanceof Error ? error.message : String(error),
      }),
    );
    over.abort();
    return this.add({ name, ...outcome, ms: Math.round(performance.now() - begunMs) });
  }

  skip(name: string, reason: string): void {
    this.add({ name, outcome: 'skipped', text: reason, ms: 0 });
  }

  private add(result: CheckResult): boolean {
    this.results.push(result);
    this.options.report?.(result);
    return result.outcome === 'ok';
  }
}
