import type { SeededRandom } from '../kernel/seeded-random.js';
import type { RegionLink } from '../world/region-link.js';
import type { Faults } from './faults.js';

/** What breaks between regions. */
export const REGION_FAULTS: Faults = {
  'regions cut off': [
    14,
    ({ world }, random) => {
      const forMs = random.between(500, 60_000);
      for (const link of world.links.values()) {
        link.cut(forMs);
        link.far.links.get(world.region)?.cut(forMs);
      }
    },
  ],
  'region asks in vain': [10, ({ world }, random) => cutOne([...world.links.values()], random)],
  'all servers of a region die': [
    4,
    ({ servers, simulator }, random) => {
      for (const server of servers) {
        server.kill();
        simulator.schedule(random.between(1_000, 40_000), 'server starts', () => server.start());
      }
    },
  ],
};

/** One direction: what the others ask arrives and is answered. */
const cutOne = (links: readonly RegionLink[], random: SeededRandom): void =>
  random.pick(links).cut(random.between(500, 60_000));
