import { type CancelTimer, type Clock, type Timers, errorText } from '@waybill/model';
import type { Driver, DriverFingerprint } from '../../drivers/driver.js';
import type { LocalEvent, LocalNode } from './local-node.js';
import { describeDriver } from './node-description.js';

/** The interval in milliseconds between two fingerprints of a driver. */
export const DRIVER_PERIOD_MS = 30_000;
/** Longest time for which the first fingerprints of drivers delay the registration of the machine (AG-12). */
export const FIRST_ANSWER_TIMEOUT_MS = 50_000;

export interface DriverWatchDependencies {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly drivers: ReadonlyMap<string, Driver>;
  readonly node: Pick<LocalNode, 'driver'>;
  /** Receives an event for the node's history. */
  readonly emit: (event: LocalEvent) => void;
}

/**
 * DriverWatch fingerprints the drivers of this machine periodically and reports changes to the servers (AG-22 to
 * AG-24).
 *
 * States: stopped → watching → stopped. It has one timer. A driver that has not answered is not asked again before it
 * does, and does not delay other drivers.
 */
export class DriverWatch {
  private cancel: CancelTimer = () => {};
  private readonly fingerprinting = new Set<string>();
  /** The drivers that have changed while they were asked. */
  private readonly again = new Set<string>();

  constructor(private readonly deps: DriverWatchDependencies) {}

  start(): void {
    for (const [name, driver] of this.deps.drivers) driver.onChange?.(() => this.fingerprintChanged(name, driver));
    this.scheduleFingerprints();
  }

  private scheduleFingerprints(): void {
    this.cancel = this.deps.timers.after(DRIVER_PERIOD_MS, () => {
      for (const [name, driver] of this.deps.drivers) void this.fingerprint(name, driver);
      this.scheduleFingerprints();
    });
  }

  stop(): void {
    this.cancel();
  }

  /** Asks at once. A driver that is being asked may have answered already, so it is asked once more. */
  private fingerprintChanged(name: string, driver: Driver): void {
    if (this.fingerprinting.has(name)) this.again.add(name);
    else void this.fingerprint(name, driver);
  }

  private async fingerprint(name: string, driver: Driver): Promise<void> {
    if (this.fingerprinting.has(name)) return;
    this.fingerprinting.add(name);
    const print = await fingerprintOf(driver);
    this.fingerprinting.delete(name);
    if (this.again.delete(name)) void this.fingerprint(name, driver);
    const event = this.deps.node.driver(name, describeDriver(print, this.deps.clock.nowMs()));
    if (event) this.deps.emit(event);
  }
}

/**
 * Returns the first fingerprint of every driver. A driver that takes longer than FIRST_ANSWER_TIMEOUT_MS counts as
 * undetected until it answers.
 */
export async function firstFingerprints(
  drivers: ReadonlyMap<string, Driver>,
  timers: Timers,
): Promise<Map<string, DriverFingerprint>> {
  const late = { health: 'undetected', description: 'has not answered yet', attributes: {} } as const;
  const answers = [...drivers].map(
    ([name, driver]) =>
      new Promise<[string, DriverFingerprint]>((resolve) => {
        const cancel = timers.after(FIRST_ANSWER_TIMEOUT_MS, () => resolve([name, late]));
        void fingerprintOf(driver).then((print) => {
          cancel();
          resolve([name, print]);
        });
      }),
  );
  return new Map(await Promise.all(answers));
}

/** Returns a driver's fingerprint. It never rejects: a driver whose fingerprint fails is unhealthy. */
async function fingerprintOf(driver: Driver): Promise<DriverFingerprint> {
  try {
    return await driver.fingerprint();
  } catch (error) {
    const description = errorText(error);
    return { health: 'unhealthy', description, attributes: {} };
  }
}
