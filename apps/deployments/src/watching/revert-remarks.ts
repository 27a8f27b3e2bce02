/** Suffixes of a failed deployment's description. */
export const rollingBack = (version: number): string => ` - rolling back to job version ${version}`;
export const sameSpecification = (version: number): string =>
  ` - not rolling back to stable job version ${version} as current job has same specification`;
export const NO_STABLE_VERSION = ' - no stable job version to auto revert to';
