import type { Family, Iptables } from './iptables.transport.js';

/** The names of chains with the rules of one allocation. */
const OWN_CHAIN = /^CNI-(DN-)?[0-9a-f]+$/;

/** LeftRule is a rule that leads into a chain of the allocation, with that chain. */
interface LeftRule {
  /** The rule as arguments of `-D`. */
  readonly rule: readonly string[];
  readonly chain: string;
}

/**
 * Removes an allocation's rules that the plugins could not remove: rules by their comment, which names network and
 * allocation, and the chains to which they lead (NW-46). Having none is a success. Cost: O(rules of the machine).
 * @throws IptablesError
 */
export async function removeLeftRules(iptables: Iptables, network: string, allocId: string): Promise<void> {
  for (const family of ['ip6tables', 'iptables'] as const)
    if (iptables.hasProgram(family)) await removeFrom(iptables, family, network, allocId);
}

async function removeFrom(iptables: Iptables, family: Family, network: string, allocId: string): Promise<void> {
  const left = leftRules(await iptables.runCommand(family, '-t', 'nat', '-S'), network, allocId);
  for (const { rule } of left) await iptables.succeeds(family, '-t', 'nat', '-D', ...rule);
  for (const chain of new Set(left.map((one) => one.chain))) {
    await iptables.succeeds(family, '-t', 'nat', '-F', chain);
    await iptables.succeeds(family, '-t', 'nat', '-X', chain);
  }
}

/** Finds an allocation's rules in a listing. @param listing the output of `iptables -S` */
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

/** Splits a line into words. Quoted words contain a backslash before a quote. */
export function wordsOf(line: string): string[] {
  const found = line.match(/"(?:\\.|[^"\\])*"|\S+/g) ?? [];
  return found.map((word) => (word.startsWith('"') ? word.slice(1, -1).replaceAll(/\\(.)/g, '$1') : word));
}
