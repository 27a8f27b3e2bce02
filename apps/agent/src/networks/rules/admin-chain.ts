import { ADMIN_CHAIN, type BridgeOptions } from '../cni/bridge-network.js';
import type { Family, Iptables } from './iptables.transport.js';

/**
 * Lets traffic into the bridge's subnet by a rule in a chain of its own (NW-81). What others have put into the chain stays,
 * and so does its order: administrators can put limits in front. Cost when all is there: one process for each family.
 * @throws IptablesError
 */
export async function ensureAdminChain(iptables: Iptables, bridge: BridgeOptions): Promise<void> {
  if (bridge.subnetIPv6 !== '') await ensureRule(iptables, 'ip6tables', bridge.name, bridge.subnetIPv6);
  await ensureRule(iptables, 'iptables', bridge.name, bridge.subnet);
}

async function ensureRule(iptables: Iptables, family: Family, bridge: string, subnet: string): Promise<void> {
  const rule = ['-o', bridge, '-d', subnet, '-j', 'ACCEPT'];
  if (await iptables.succeeds(family, '-t', 'filter', '-C', ADMIN_CHAIN, ...rule)) return;
  // Somebody else may make the chain at the same moment: then it is there, which is all that is wanted.
  await iptables.succeeds(family, '-t', 'filter', '-N', ADMIN_CHAIN);
  await iptables.tell(family, '-t', 'filter', '-A', ADMIN_CHAIN, ...rule);
}
