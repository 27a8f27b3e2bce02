import { setTimeout as delay } from 'node:timers/promises';
import { runCli } from '../support/cli.js';
import type { WaybillProcesses } from '../support/waybill-processes.js';

/** A person is told, reads, and decides. */
const DECIDED_WITHIN_MS = 240_000;
const LOOK_MS = 250;
/** After a decision, services end and begin anew: until then an old alert says nothing new. */
const ALERT_CLEARS_MS = 60_000;
/** Everything has to be well for this long: a service that has not yet heard that NATS is back looks well too. */
const WELL_FOR_MS = 3_000;

/** What `waybill operator log status -json` says, as far as it is looked at. */
interface LogStatus {
  readonly LostCount: number;
  readonly Divergence: string;
  readonly Lost: readonly { readonly Index: number }[];
}

/** What an operator was told before a decision, and how often they had to decide. */
export interface Decision {
  /** Indexes of the transactions that Waybill said are lost. */
  readonly named: readonly number[];
  readonly adoptions: number;
}

/** A process that is asked how it is. */
export interface Watched {
  readonly name: string;
  /** Starts it again if it has ended by itself, as a supervisor does; waits for nothing. */
  readonly restart: () => void;
}

/**
 * Follows the runbook (docs/power-cuts.md): sees the alert or a service that is not ready, reads what is lost, adopts the
 * log, and looks until every service is well again.
 */
export class Operator {
  constructor(
    private readonly waybill: WaybillProcesses,
    private readonly say: (line: string) => void,
  ) {}

  /** @throws when not everything is well in the end */
  async decide(watched: readonly Watched[]): Promise<Decision> {
    const supervisor = setInterval(() => watched.forEach(({ restart }) => restart()), LOOK_MS);
    try {
      return await this.decideWhileRestarted(watched);
    } finally {
      clearInterval(supervisor);
    }
  }

  private async decideWhileRestarted(watched: readonly Watched[]): Promise<Decision> {
    const named = new Set<number>();
    let adoptions = 0;
    let wellSinceMs: number | undefined;
    let heedsAlertsFromMs = 0;
    let last = '';
    for (const deadline = performance.now() + DECIDED_WITHIN_MS; performance.now() < deadline; await delay(LOOK_MS)) {
      const [status, ill, alerted] = await Promise.all([
        this.status(),
        this.notReady(watched),
        this.hasDiverged(watched),
      ]);
      last = `status ${JSON.stringify(status)}, not ready: ${ill.join()}`;
      if (!status) continue;
      const isAlert = (alerted || status.Divergence !== '') && performance.now() > heedsAlertsFromMs;
      if (status.LostCount > 0 || isAlert) {
        wellSinceMs = undefined;
        for (const { Index } of status.Lost) named.add(Index);
        const { code, out, err } = await runCli(this.waybill.api.url, ['operator', 'log', 'adopt', '-yes']);
        this.say(`adopt: ${code === 0 ? out.split('\n')[0] : err.trim()} (${status.LostCount} were lost)`);
        if (code !== 0) continue;
        adoptions++;
        heedsAlertsFromMs = performance.now() + ALERT_CLEARS_MS;
        continue;
      }
      if (ill.length > 0) wellSinceMs = undefined;
      else if ((wellSinceMs ??= performance.now()) + WELL_FOR_MS < performance.now())
        return { named: [...named], adoptions };
    }
    throw new Error(`not well ${DECIDED_WITHIN_MS} ms after a power cut: ${last}`);
  }

  private async status(): Promise<LogStatus | undefined> {
    const { out } = await runCli(this.waybill.api.url, ['operator', 'log', 'status', '-json']);
    return out.trim() === '' ? undefined : (JSON.parse(out) as LogStatus);
  }

  private async notReady(watched: readonly Watched[]): Promise<string[]> {
    const answers = await Promise.all(watched.map(({ name }) => this.asked(name, 'readyz')));
    const apart = watched.filter((_, n) => answers[n]?.ok !== true).map(({ name }) => name);
    return [...apart, ...this.waybill.illTogether];
  }

  /** The alert of docs/monitoring.md. */
  private async hasDiverged(watched: readonly Watched[]): Promise<boolean> {
    const texts = await Promise.all(watched.map(async ({ name }) => (await this.asked(name, 'metrics'))?.text));
    const isOfOthers = this.waybill.illTogether.some((reason) => reason.includes('it is not the same log'));
    return isOfOthers || texts.some((text) => /^waybill_log_diverged(\{.*\})? 1$/m.test(text ?? ''));
  }

  private async asked(name: string, what: string): Promise<{ ok: boolean; text: string } | undefined> {
    try {
      const answer = await fetch(`${this.waybill.opsUrl(name)}/${what}`, { signal: AbortSignal.timeout(2_000) });
      return { ok: answer.ok, text: await answer.text() };
    } catch {
      return undefined;
    }
  }
}
