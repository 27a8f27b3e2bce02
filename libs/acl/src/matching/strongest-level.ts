import type { PluginLevel, PolicyLevel } from '../capabilities.js';

/** From weak to strong (OP-125). `scale` grants nothing outside of namespaces, and does not hide another policy's level. */
const STRENGTH: Readonly<Record<PolicyLevel | PluginLevel, number>> = { scale: 0, list: 1, read: 2, write: 3, deny: 4 };

/** The level that counts of those of several policies (OP-125); undefined: none has one. */
export function strongestLevel<Level extends PolicyLevel | PluginLevel>(levels: readonly Level[]): Level | undefined {
  return levels.toSorted((a, b) => STRENGTH[b] - STRENGTH[a])[0];
}
