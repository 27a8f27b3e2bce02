import type { SeededRandom } from '../kernel/seeded-random.js';
import type { SimulatedProcess } from '../kernel/simulated-process.js';
import type { Simulator } from '../kernel/simulator.js';

/** How messages travel now; the faults of a run change it. Chances in [0, 1]. */
export interface Weather {
  /** A message of a call, an announcement or a lease never arrives. */
  loss: number;
  /** A call arrives twice. */
  repeat: number;
  /** A message takes up to SLOWEST_MS. */
  slow: number;
  /** The log has written and its answer does not arrive. */
  ackLoss: number;
  /** A query of Postgres fails, before or after its effect. */
  databaseError: number;
  /** A look at a service finds nothing. */
  checkFailure: number;
  /** A storage plugin says that it failed, before or after its effect. */
  pluginError: number;
  /** A storage plugin takes its time. */
  pluginSlow: number;
}

export const CALM: Weather = {
  loss: 0,
  repeat: 0,
  slow: 0,
  ackLoss: 0,
  databaseError: 0,
  checkFailure: 0,
  pluginError: 0,
  pluginSlow: 0,
};

export interface AskingNats {
  /** Nobody waits longer for the answer. */
  readonly timeoutMs: number;
  /** The weather in which it is not heard; absent: it always is. */
  readonly unheard?: keyof Weather;
  /** The weather in which it acts, and the answer does not arrive; absent: it always arrives. */
  readonly unanswered?: keyof Weather;
}

/** How messages of a process reach a NATS server, and the other way. What cannot pass is lost. */
export interface Road {
  toNats(from: SimulatedProcess, label: string, run: () => void): void;
  toProcess(to: SimulatedProcess, label: string, run: () => void): void;
}

/** A process is connected again so long after its NATS came back or the cut healed, milliseconds. */
const RECONNECT_MS = [1, 300] as const;
const FASTEST_MS = 0.2;
const USUAL_MS = 3;
export const SLOWEST_MS = 4_000;

/** The connection of one process to NATS, as the process sees it. */
export interface Connection {
  readonly up: boolean;
  /** @returns unsubscribe */
  onChange(listener: (up: boolean) => void): () => void;
}

/**
 * The network: a star, every process is connected to NATS and to nothing else. A process that is cut off neither sends
 * nor receives; while NATS is down nobody does. What is on its way at that moment is lost, and nothing of a connection
 * arrives after it broke. Processes connect again one by one, and one that stands still does so when it goes on.
 */
export class Wire implements Road {
  weather: Weather = { ...CALM };
  private readonly cutOff = new Set<string>();
  private natsDown = false;
  /** Counts the starts of NATS: connections to an earlier one are broken. */
  private era = 0;
  /** The era to which each process is connected. */
  private readonly connections = new Map<SimulatedProcess, number>();
  private readonly listeners = new Map<SimulatedProcess, Set<(up: boolean) => void>>();

  /** @param reconnecting luck of its own, so that runs in which NATS never restarts draw none of it */
  constructor(
    private readonly simulator: Simulator,
    private readonly random: SeededRandom,
    private readonly reconnecting: SeededRandom,
  ) {}

  get isNatsUp(): boolean {
    return !this.natsDown;
  }

  setNats(up: boolean): void {
    if (up !== this.natsDown) return;
    this.natsDown = !up;
    if (!up) {
      this.era++;
      for (const process of this.connections.keys()) this.tell(process, false);
    } else for (const process of this.connections.keys()) this.reconnect(process);
  }

  cut(processName: string): void {
    this.cutOff.add(processName);
    for (const process of this.connections.keys()) if (process.name === processName) this.tell(process, false);
  }

  heal(processName: string): void {
    this.cutOff.delete(processName);
    for (const process of this.connections.keys()) if (process.name === processName) this.reconnect(process);
  }

  connects(process: SimulatedProcess): boolean {
    if (this.natsDown || !process.isAlive || this.cutOff.has(process.name)) return false;
    const era = this.connections.get(process);
    if (era === undefined) this.connections.set(process, this.era);
    return era === undefined || era === this.era;
  }

  connectionOf(process: SimulatedProcess): Connection {
    const isUp = (): boolean => this.connects(process);
    const listeners = this.listeners.get(process) ?? new Set();
    this.listeners.set(process, listeners);
    return {
      get up() {
        return isUp();
      },
      onChange: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    };
  }

  /** Nobody is cut off and nothing is lost. */
  calmDown(): void {
    for (const name of this.cutOff) this.heal(name);
    this.weather = { ...CALM };
  }

  /** From a process to the NATS server, which acts at once. */
  toNats(from: SimulatedProcess, label: string, run: () => void): void {
    if (!this.connects(from)) return;
    const { era } = this;
    this.simulator.schedule(this.delayMs(), `${from.name} → ${label}`, () => {
      if (!this.natsDown && era === this.era && !this.cutOff.has(from.name)) run();
    });
  }

  /** From the NATS server to a process. */
  toProcess(to: SimulatedProcess, label: string, run: () => void): void {
    const { era } = this;
    this.simulator.schedule(this.delayMs(), `${label} → ${to.name}`, () => {
      if (era === this.era && this.connects(to)) to.execute(run);
    });
  }

  /** Asks the NATS server, which acts at once. @throws what it throws; when no answer comes: it may have acted or not */
  ask<T>(
    from: SimulatedProcess,
    label: string,
    { timeoutMs, unheard, unanswered }: AskingNats,
    atNats: () => T,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      const cancel = from.after(timeoutMs, () => reject(new Error(`${label}: no answer`)));
      if (unheard && this.happens(unheard)) return;
      this.toNats(from, label, () => {
        let take: () => void;
        try {
          const value = atNats();
          take = () => resolve(value);
        } catch (error) {
          take = () => reject(error instanceof Error ? error : new Error(String(error)));
        }
        if (unanswered && this.happens(unanswered)) return;
        this.toProcess(from, `${label} answer`, () => {
          cancel();
          take();
        });
      });
    });
  }

  /** Milliseconds a message is under way. */
  delayMs(): number {
    const { random, weather } = this;
    return random.chance(weather.slow) ? random.between(USUAL_MS, SLOWEST_MS) : random.between(FASTEST_MS, USUAL_MS);
  }

  /** Some time later, if nothing breaks the way again until then. */
  private reconnect(process: SimulatedProcess): void {
    if (!process.isAlive) {
      this.connections.delete(process);
      this.listeners.delete(process);
      return;
    }
    const { era } = this;
    process.reachedAfter(this.reconnecting.between(...RECONNECT_MS), `${process.name} is connected`, () => {
      if (this.natsDown || era !== this.era || this.cutOff.has(process.name)) return;
      this.connections.set(process, era);
      this.tell(process, true);
    });
  }

  private tell(process: SimulatedProcess, up: boolean): void {
    for (const listener of this.listeners.get(process) ?? []) process.execute(() => listener(up));
  }

  /** Draws only where something can happen, so that a calm run needs no luck. */
  happens(what: keyof Weather): boolean {
    return this.weather[what] > 0 && this.random.chance(this.weather[what]);
  }
}
