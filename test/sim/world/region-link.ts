import { type Regions, NoPathToRegionError, type Rpc, RpcUnavailableError } from '@waybill/rpc';
import type { SeededRandom } from '../kernel/seeded-random.js';
import type { SimulatedProcess } from '../kernel/simulated-process.js';
import type { Simulator } from '../kernel/simulator.js';
import type { Road } from './wire.js';
import type { World } from './world.js';

/** Until clients know that nothing comes through any more, and until they are connected again, milliseconds. */
const MAX_NOTICE_MS = 20_000;
const MAX_RECONNECT_MS = 4_000;
/** What the distance adds to the way of a message, milliseconds. */
const DISTANCE_MS = [5, 60] as const;

/**
 * The connections that the processes of one region have to the NATS of another.
 *
 * up → silent (cut: what is sent is lost, and nobody knows yet) → down → up; healed before anybody knows: silent → up. That a
 * NATS is down is known at once.
 */
export class RegionLink implements Road {
  private mode: 'up' | 'silent' | 'down' = 'up';
  private cuts = 0;

  constructor(
    private readonly simulator: Simulator,
    private readonly random: SeededRandom,
    readonly far: World,
  ) {}

  /** As its clients see it. */
  get isUp(): boolean {
    return this.mode !== 'down' && this.far.wire.isNatsUp;
  }

  cut(forMs: number): void {
    const cut = ++this.cuts;
    this.mode = 'silent';
    const later = (delayMs: number, label: string, run: () => void): void =>
      void this.simulator.schedule(delayMs, `${label} ${this.far.region}`, () => this.cuts === cut && run());
    later(this.random.between(0, MAX_NOTICE_MS), 'no path to', () => (this.mode = 'down'));
    later(forMs, 'path to', () => {
      if (this.mode === 'silent') this.mend();
      else later(this.random.between(0, MAX_RECONNECT_MS), 'connected to', () => this.mend());
    });
  }

  /** Up from now on, whatever was going on. */
  mend(): void {
    this.cuts++;
    this.mode = 'up';
  }

  rpcOf(process: SimulatedProcess): Rpc {
    return this.far.calls.rpcOf(process, this);
  }

  toNats(from: SimulatedProcess, label: string, run: () => void): void {
    this.pass(from, `${from.name} ⇒ ${label}`, run);
  }

  toProcess(to: SimulatedProcess, label: string, run: () => void): void {
    this.pass(to, `${label} ⇒ ${to.name}`, () => to.execute(run));
  }

  /** Lost where the path is cut, when it sets out or when it would arrive. */
  private pass(process: SimulatedProcess, label: string, run: () => void): void {
    if (!this.isOpen(process)) return;
    const delayMs = this.far.wire.delayMs() + this.random.between(...DISTANCE_MS);
    this.simulator.schedule(delayMs, label, () => this.isOpen(process) && run());
  }

  private isOpen(process: SimulatedProcess): boolean {
    return this.mode === 'up' && this.far.wire.isNatsUp && process.isAlive;
  }
}

/** The regions as one process of `own` reaches them. */
export function regionsSeenBy(
  process: SimulatedProcess,
  { region: own, links }: Pick<World, 'region' | 'links'>,
): Regions {
  return {
    own,
    names: [own, ...links.keys()].toSorted(),
    askRegion: async (region, call, request, options) => {
      const link = links.get(region);
      if (!link) throw new NoPathToRegionError(region);
      if (!link.isUp) throw new RpcUnavailableError(call.name, `not connected to region "${region}"`);
      return link.rpcOf(process).ask(call, request, { ...options, region });
    },
  };
}
