import { GlobalStops } from './checks/global-stops.js';
import { StartedRegions } from './checks/started-regions.js';
import { InvariantError } from './checks/violation.js';
import { Cluster } from './cluster.js';
import type { SeededRandom } from './kernel/seeded-random.js';
import type { Simulator } from './kernel/simulator.js';
import type { RunSize } from './run-plan.js';
import { User } from './workload/user.js';
import { RegionLink } from './world/region-link.js';

/** The region of a run that has no other. */
const ALONE = 'global';
const REGIONS = ['west', 'east'];

/** A region with those who use it. */
export interface InhabitedRegion {
  readonly cluster: Cluster;
  readonly user: User;
}

/**
 * The regions of a run: complete clusters that share nothing but the time, and reach each other over links. One alone is as
 * large as two are together.
 */
export class Federation {
  readonly regions: readonly InhabitedRegion[];

  constructor(
    readonly simulator: Simulator,
    random: SeededRandom,
    size: RunSize,
  ) {
    const clusters = size.regions === 1 ? [this.cluster(ALONE, random, size)] : this.severalOf(random, size);
    this.regions = clusters.map((cluster) => ({ cluster, user: this.userOf(cluster, clusters) }));
  }

  get clusters(): readonly Cluster[] {
    return this.regions.map(({ cluster }) => cluster);
  }

  get transactions(): number {
    return this.clusters.reduce((sum, { log }) => sum + log.length, 0);
  }

  /** By action, how often users were told that it is done. */
  get acknowledged(): ReadonlyMap<string, number> {
    const [first, ...others] = this.clusters;
    const sums = new Map(first?.writes.byAction);
    for (const { writes } of others)
      for (const [action, times] of writes.byAction) sums.set(action, (sums.get(action) ?? 0) + times);
    return sums;
  }

  start(): void {
    for (const { cluster } of this.regions) cluster.start();
  }

  /** Nothing breaks any more, and every region reaches every other. */
  repair(): void {
    for (const { cluster } of this.regions) cluster.repair();
  }

  private severalOf(random: SeededRandom, size: RunSize): readonly Cluster[] {
    const machines = Math.ceil(size.machines / REGIONS.length);
    const clusters = REGIONS.map((name) => this.cluster(name, random.fork(`region ${name}`), { ...size, machines }));
    for (const { world } of clusters)
      for (const { world: far } of clusters)
        if (far !== world)
          world.links.set(
            far.region,
            new RegionLink(this.simulator, random.fork(`${world.region} to ${far.region}`), far),
          );
    new StartedRegions(clusters, this.reportOf('several regions'));
    for (const cluster of clusters) cluster.globalStops = new GlobalStops(cluster, clusters);
    return clusters;
  }

  private cluster(region: string, random: SeededRandom, size: RunSize): Cluster {
    return new Cluster(this.simulator, random, size, this.reportOf(region), region);
  }

  private userOf(cluster: Cluster, clusters: readonly Cluster[]): User {
    const detours = clusters.flatMap(({ servers, world }) => {
      const link = world.links.get(cluster.world.region);
      return link ? [{ servers, link }] : [];
    });
    return new User(cluster, this.reportOf(cluster.world.region), detours);
  }

  private reportOf(where: string) {
    const prefix = where === ALONE ? '' : `${where}: `;
    return (invariant: string, details: string): void =>
      this.simulator.fail(new InvariantError(invariant, `${prefix}${details}`));
  }
}
