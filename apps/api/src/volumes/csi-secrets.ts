import type { ApiRequest } from '../http/reply.js';

/**
 * Reads the secrets in the header `X-Nomad-CSI-Secrets: k=v,k2=v2`. It splits at commas, then at the first `=`
 * (VL-268). Parts without `=` are ignored, and later keys win. The result is null if there are no secrets.
 */
export function csiSecretsOf({ headers }: Pick<ApiRequest, 'headers'>): Record<string, string> | null {
  const header = [headers['x-nomad-csi-secrets'] ?? ''].flat().join(',');
  const pairs = header.split(',').flatMap((part) => {
    const at = part.indexOf('=');
    return at < 0 ? [] : [[part.slice(0, at), part.slice(at + 1)] as const];
  });
  return pairs.length === 0 ? null : Object.fromEntries(pairs);
}
