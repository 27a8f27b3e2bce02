/** The API versions that the agent speaks, for both kinds of plugin (PG-24). */
export const API_VERSIONS = ['v0.1.0'] as const;

type Version = readonly [number, number, number];

/** Parses `v0.1.0`, `0.1`, or a version with a suffix such as `1.2.3-beta1`. The suffix does not count. */
export function parseVersion(text: string): Version | undefined {
  const found = /^v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:[-+.].*)?$/.exec(text.trim());
  return found ? [Number(found[1]), Number(found[2] ?? 0), Number(found[3] ?? 0)] : undefined;
}

/** Compares versions; one that does not parse is the lowest. */
export function compareVersions(a: string, b: string): number {
  const [mine, its] = [parseVersion(a) ?? [-1, 0, 0], parseVersion(b) ?? [-1, 0, 0]];
  for (let at = 0; at < mine.length; at++) {
    const difference = (mine[at] ?? 0) - (its[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** A plugin and the agent have no API version in common. */
export class ApiVersionError extends Error {
  override readonly name = 'ApiVersionError';
}

/** Returns the highest version that the plugin and the agent have in common (PG-24). @throws ApiVersionError */
export function commonApiVersion(offered: readonly string[]): string {
  if (offered.length === 0) throw new ApiVersionError('plugin provided no compatible API versions');
  const invalid = offered.filter((version) => parseVersion(version) === undefined);
  if (invalid.length > 0) throw new ApiVersionError(`plugin provided invalid versions: ${invalid.join(', ')}`);
  const common = API_VERSIONS.filter((own) => offered.some((version) => compareVersions(version, own) === 0));
  const best = common.toSorted(compareVersions).at(-1);
  if (best === undefined)
    throw new ApiVersionError('skipping plugin because supported API versions for plugin and Nomad do not overlap');
  return best;
}
