import { type PluginCapability, pluginCapabilities, type WirePluginCapabilities } from './capabilities.js';
import { CsiAnswerError } from './errors.js';
import type { CallOptions, PluginConnection } from './plugin-connection.js';

/** Longest time for a plugin to answer a probe (VL-249). */
export const PROBE_TIMEOUT_MS = 5_000;
export const INFO_TIMEOUT_MS = 1_000;

export interface PluginInfo {
  readonly name: string;
  readonly version: string;
}

/** Identity and health of a plugin. Calls are not retried, because the next check is the retry (VL-250). */
export class IdentityClient {
  constructor(private readonly connection: PluginConnection) {}

  /**
   * Returns false if the plugin is healthy but not ready yet. An unhealthy plugin is an error (VL-214). @throws
   * CsiError
   */
  async probe(options?: CallOptions): Promise<boolean> {
    const { ready } = await this.callIdentity<{ readonly ready: { readonly value: boolean } | null }>('Probe', {
      timeoutMs: PROBE_TIMEOUT_MS,
      ...options,
    });
    return ready?.value ?? true;
  }

  /** @throws CsiError, CsiAnswerError */
  async info(options?: CallOptions): Promise<PluginInfo> {
    const { name, vendor_version: version } = await this.callIdentity<{ name: string; vendor_version: string }>(
      'GetPluginInfo',
      {
        timeoutMs: INFO_TIMEOUT_MS,
        ...options,
      },
    );
    if (name === '') throw new CsiAnswerError('the plugin has no name');
    return { name, version };
  }

  /** @throws CsiError */
  async capabilities(options?: CallOptions): Promise<ReadonlySet<PluginCapability>> {
    return pluginCapabilities(await this.callIdentity<WirePluginCapabilities>('GetPluginCapabilities', options));
  }

  private callIdentity<Answer>(method: string, options?: CallOptions): Promise<Answer> {
    return this.connection.call('Identity', method, {}, { ...options, tries: 1 });
  }
}
