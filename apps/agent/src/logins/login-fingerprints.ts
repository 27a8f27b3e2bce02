import { type CancelTimer, errorText, type Timers } from '@waybill/model';
import type { Logger } from '@waybill/telemetry';
import type { LocalNode } from '../machine/node/local-node.js';

/** The time in milliseconds between two looks at a server. */
export const LOOK_PERIOD_MS = 15_000;
/** The number of failed looks in a row after which the machine no longer says that it reaches the server. */
export const FAILED_LOOKS = 3;

/** LookedAt is a cluster of Vault or Consul that this machine looks at. */
export interface LookedAt {
  /** The name in the log, such as `Vault "default"`. */
  readonly name: string;
  /** Returns the machine's attributes about the server. @throws any error if the server cannot be used now */
  readonly look: () => Promise<Readonly<Record<string, string>>>;
}

export interface LoginFingerprintsDependencies {
  readonly servers: readonly LookedAt[];
  readonly node: Pick<LocalNode, 'replaceAttributes'>;
  readonly timers: Timers;
  /** Returns a number in [0, 1). */
  readonly random: () => number;
  readonly logger: Logger;
}

/**
 * LoginFingerprints looks at the clusters of Vault and Consul of this machine and keeps the machine's attributes about
 * them (AU-164). Jobs need the attributes to be placed here; running tasks do not.
 *
 * States: stopped → watching → stopped. One timer for each cluster. A server that is away for FAILED_LOOKS looks loses
 * its attributes, so that a short outage does not change the machine.
 */
export class LoginFingerprints {
  private isStopped = false;
  private readonly cancels = new Map<LookedAt, CancelTimer>();

  constructor(private readonly deps: LoginFingerprintsDependencies) {}

  start(): void {
    for (const server of this.deps.servers) void this.watch(server, {}, 0);
  }

  stop(): void {
    this.isStopped = true;
    for (const cancel of this.cancels.values()) cancel();
  }

  private async watch(server: LookedAt, known: Readonly<Record<string, string>>, failed: number): Promise<void> {
    const { node, logger, timers, random } = this.deps;
    let [now, failures] = [known, failed];
    try {
      now = await server.look();
      failures = 0;
      if (failed > 0 || Object.keys(known).length === 0) logger.info(`${server.name} can be used`, {});
    } catch (error) {
      failures++;
      if (failures === 1) logger.warn(`${server.name} cannot be used`, { error: errorText(error) });
      if (failures >= FAILED_LOOKS) now = {};
    }
    if (this.isStopped) return;
    node.replaceAttributes(known, now);
    const waitMs = LOOK_PERIOD_MS * (0.9 + 0.2 * random()); // machines do not ask in step
    this.cancels.set(
      server,
      timers.after(waitMs, () => void this.watch(server, now, failures)),
    );
  }
}
