import { describe, expect, it } from 'vitest';
import { commonApiVersion, compareVersions } from './api-version.js';

describe('API versions', () => {
  it('PG-24: the common one is chosen, compared as versions', () => {
    expect(commonApiVersion(['v0.2.0', 'v0.1.0'])).toBe('v0.1.0');
    expect(commonApiVersion(['0.1'])).toBe('v0.1.0');
    expect(() => commonApiVersion(['v9.0.0'])).toThrow(
      'skipping plugin because supported API versions for plugin and Nomad do not overlap',
    );
    expect(() => commonApiVersion([])).toThrow('plugin provided no compatible API versions');
    expect(() => commonApiVersion(['v0.1.0', 'latest'])).toThrow('plugin provided invalid versions: latest');
  });

  it('PG-25: versions of plugins are compared by their numbers', () => {
    expect(['0.10.0', 'v0.9.1', 'no', '0.9.1-beta'].toSorted(compareVersions)).toEqual([
      'no',
      'v0.9.1',
      '0.9.1-beta',
      '0.10.0',
    ]);
  });
});
