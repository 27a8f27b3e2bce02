import type { AllocCheckStatus } from '../../api/contract.js';

const WORDS = { success: 'passing', failure: 'failing', pending: 'pending' } as const;

/** Returns the state of a check in the word that readers know. */
export const stateOfCheck = ({ Status }: Pick<AllocCheckStatus, 'Status'>): string => WORDS[Status];

/** Returns the state of a service's instance: the worst of its checks, or undefined if it has none. */
export function stateOfInstance(checks: readonly Pick<AllocCheckStatus, 'Status'>[]): string | undefined {
  const states = checks.map(stateOfCheck);
  return ['failing', 'pending', 'passing'].find((state) => states.includes(state));
}

/** Returns the checks of one service. An allocation may have registered several services. */
export const checksOf = (
  all: Readonly<Record<string, AllocCheckStatus>> | undefined,
  service: string,
): readonly AllocCheckStatus[] => Object.values(all ?? {}).filter(({ Service }) => Service === service);
