import { ADMIN_CHAIN, type BridgeOptions } from '../cni/bridge-network.js';
import type { Family, Iptables } from './iptables.transport.js';

/**
 * Permits traffic into the bridge's subnet by a rule in a separate chain (NW-81). Other rules of the chain and their
 * order stay, so administrators can put limits in front. Cost if the rule exists: one process for each family.
 * @throws IptablesError
 */
export async function ensureAdminChain(iptables: Iptables, bridge: BridgeOptions): Promise<void> {
  if (bridge.subnetIPv6 !== '') await ensureRule(iptables, 'ip6tables', bridge.name, bridge.subnetIPv6);
  await ensureRule(iptables, 'iptables', bridge.name, bridge.subnet);
}

async function ensureRule(iptables: Iptables, family: Family, bridge: string, subnet: string): Promise<void> {
  const rule = ['-o', bridge, '-d', subnet, '-j', 'ACCEPT'];
  if (await iptables.succeeds(family, '-t', 'filter', '-C', ADMIN_CHAIN, ...rule)) return;
  // Another program may make the chain at the same moment. Then it exists, which is enough.
  await iptables.succeeds(family, '-t', 'filter', '-N', ADMIN_CHAIN);
  await iptables.runCommand(family, '-t', 'filter', '-A', ADMIN_CHAIN, ...rule);
}
