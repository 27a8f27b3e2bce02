import type { Cluster } from '../cluster.js';
import type { SeededRandom } from '../kernel/seeded-random.js';
import type { UserApi, Written } from '../world/user-api.js';

/** Something a user does: picks what it is about from the state as it is, asks one API. Undefined: there is nothing to ask. */
export type Action = (api: UserApi, cluster: Cluster, random: SeededRandom) => Promise<Written> | undefined;

/** Each with how often it is done, compared with the others. */
export type Actions = Readonly<Record<string, readonly [weight: number, action: Action]>>;
