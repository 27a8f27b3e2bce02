import type { Family, Iptables } from './iptables.transport.js';

/** Chains that hold the rules of one allocation. */
const OWN_CHAIN = /^CNI-(DN-)?[0-9a-f]+$/;

/** A rule that leads into a chain of the allocation, and that chain. */
interface LeftRule {
  /** As arguments of `-D`. */
  readonly rule: readonly string[];
  readonly chain: string;
}

/**
 * Takes away what the plugins have left of an allocation, when they themselves could not: rules by their comment, which
 * names network and allocation, and the chains that these lead to (NW-46). None is fine. Cost: O(rules of the machine).
 * @throws IptablesError
 */
export async function removeLeftRules(iptables: Iptables, network: string, allocId: string): Promise<void> {
  for (const family of ['ip6tables', 'iptables'] as const)
    if (iptables.has(family)) await removeFrom(iptables, family, network, allocId);
}

async function removeFrom(iptables: Iptables, family: Family, network: string, allocId: string): Promise<void> {
  const left = leftRules(await iptables.tell(family, '-t', 'nat', '-S'), network, allocId);
  for (const { rule } of left) await iptables.succeeds(family, '-t', 'nat', '-D', ...rule);
  for (const chain of new Set(left.map((one) => one.chain))) {
    await iptables.succeeds(family, '-t', 'nat', '-F', chain);
    await iptables.succeeds(family, '-t', 'nat', '-X', chain);
  }
}

/** @param listing as `iptables -S` prints it */
export function leftRules(listing: string, network: string, allocId: string): LeftRule[] {
  const comment = `name: "${network}" id: "${allocId}"`;
  return listing.split('\n').flatMap((line) => {
    const [added, at = '', ...rest] = wordsOf(line);
    const chain = rest[rest.indexOf('-j') + 1];
    if (added !== '-A' || OWN_CHAIN.test(at) || chain === undefined || !OWN_CHAIN.test(chain)) return [];
    const text = rest[rest.indexOf('--comment') + 1];
    return text?.endsWith(comment) === true ? [{ rule: [at, ...rest], chain }] : [];
  });
}

/** The words of a line: some are in quotes, in which a backslash stands before a quote. */
export function wordsOf(line: string): string[] {
  const found = line.match(/"(?:\\.|[^"\\])*"|\S+/g) ?? [];
  return found.map((word) => (word.startsWith('"') ? word.slice(1, -1).replaceAll(/\\(.)/g, '$1') : word));
}
