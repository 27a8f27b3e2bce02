import type { ApiClient } from '../server/api-client.js';
import { CommandFailure } from '../failure.js';
import type { ParsedFlags } from '../flags/parsed-flags.js';

export const SECRET_FLAG = {
  name: 'secret',
  kind: 'list',
  value: 'key=value',
  help: 'Secret for the storage plugin. May be repeated.',
} as const;

/** Parses `key=value` of a repeatable flag. @throws CommandFailure */
export function pairsOf(flags: ParsedFlags, name: 'secret' | 'parameter'): Record<string, string> {
  const pairs = flags.list(name).map((pair) => {
    const at = pair.indexOf('=');
    const title = `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
    if (at < 1) throw new CommandFailure(`${title} must be in the format: -${name} key=value`);
    return [pair.slice(0, at), pair.slice(at + 1)] as const;
  });
  return Object.fromEntries(pairs);
}

/** Returns a client that sends the secrets of `-secret` (CL-711). @throws CommandFailure */
export function withSecrets(api: ApiClient, flags: ParsedFlags): ApiClient {
  const pairs = Object.entries(pairsOf(flags, 'secret'));
  if (pairs.length === 0) return api;
  return api.sending({ 'X-Nomad-CSI-Secrets': pairs.map(([key, value]) => `${key}=${value}`).join(',') });
}
