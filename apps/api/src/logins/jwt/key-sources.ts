import { createRemoteJWKSet, customFetch } from 'jose';
import type { AuthMethodConfig, Clock } from '@waybill/model';
import type { Metrics } from '@waybill/telemetry';
import { BoundedCache } from '../bounded-cache.js';
import { CALL_TIMEOUT_MS, type OutsideFetch } from '../outside-calls.transport.js';
import { providerMetadata, type ProviderMetadata } from '../provider-metadata.js';
import { publicKeys } from './public-keys.js';
import type { KeyLookup, VerificationKeys } from './signature.js';

/** KeyConfig says where the keys of a method come from. */
export type KeyConfig = Pick<
  AuthMethodConfig,
  'JWTValidationPubKeys' | 'JWKSURL' | 'JWKSCACert' | 'OIDCDiscoveryURL' | 'DiscoveryCaPem'
>;

export interface KeySourcesOptions {
  readonly clock: Clock;
  /** Returns a function that calls providers and trusts certificates of these authorities. */
  readonly fetchWith: (authorities: readonly string[]) => OutsideFetch;
  readonly metrics: Pick<Metrics, 'histogram'>;
}

/** The largest number of providers and key sets in memory. Nobody has as many methods. */
const MAX_PROVIDERS = 256;
/** The time in milliseconds for which a provider's metadata is valid (AU-106). */
export const METADATA_FOR_MS = 6 * 3_600_000;
/** The time in milliseconds for which a fetched set of keys is valid. A missing key causes an earlier fetch. */
export const KEYS_FOR_MS = 10 * 60_000;
/** The shortest time in milliseconds between two fetches of a set, however many tokens name keys that it lacks. */
export const KEYS_PAUSE_MS = 1_000;

/**
 * KeySources has the keys and metadata of providers. It fetches them at a login and keeps them: metadata for
 * METADATA_FOR_MS, key sets for KEYS_FOR_MS (AU-72, AU-73, AU-106). However many logins there are at once, one fetch
 * runs for each. A failed fetch fails the login, and the next login tries again.
 */
export class KeySources {
  private readonly metadata: BoundedCache<ProviderMetadata>;
  private readonly sets: BoundedCache<KeyLookup>;
  private readonly statics: BoundedCache<VerificationKeys>;

  constructor(private readonly options: KeySourcesOptions) {
    const { clock } = options;
    this.metadata = new BoundedCache({ most: MAX_PROVIDERS, forMs: METADATA_FOR_MS, clock });
    this.sets = new BoundedCache({ most: MAX_PROVIDERS, forMs: METADATA_FOR_MS, clock });
    this.statics = new BoundedCache({ most: MAX_PROVIDERS, forMs: METADATA_FOR_MS, clock });
  }

  /**
   * Returns the keys of a method's tokens, from exactly one source. @throws UnreadableKeyError, ProviderMetadataError,
   * OutsideCallError
   */
  async of(config: KeyConfig): Promise<VerificationKeys> {
    const pems = config.JWTValidationPubKeys ?? [];
    if (pems.length > 0) return this.statics.of(JSON.stringify(pems), async () => staticKeys(pems));
    if (config.JWKSURL !== '') return this.keySetOf(config.JWKSURL, given(config.JWKSCACert), 'jwks');
    return this.ofProvider(config);
  }

  /** Returns the keys of the provider that a method names. @throws ProviderMetadataError, OutsideCallError */
  async ofProvider(config: Pick<KeyConfig, 'OIDCDiscoveryURL' | 'DiscoveryCaPem'>): Promise<VerificationKeys> {
    const authorities = config.DiscoveryCaPem ?? [];
    const { jwks_uri } = await this.metadataOf(config.OIDCDiscoveryURL, authorities);
    return this.keySetOf(jwks_uri, authorities, 'oidc_jwt');
  }

  /** @throws ProviderMetadataError, OutsideCallError */
  metadataOf(discoveryUrl: string, authorities: readonly string[]): Promise<ProviderMetadata> {
    return this.metadata.of(JSON.stringify([discoveryUrl, authorities]), () =>
      providerMetadata(discoveryUrl, this.options.fetchWith(authorities)),
    );
  }

  private async keySetOf(url: string, authorities: readonly string[], source: FetchOf): Promise<VerificationKeys> {
    const keyOf = await this.sets.of(JSON.stringify([url, authorities]), async () => {
      const call = this.timedFetch(this.options.fetchWith(authorities), source);
      return createRemoteJWKSet(new URL(url), {
        timeoutDuration: CALL_TIMEOUT_MS,
        cooldownDuration: KEYS_PAUSE_MS,
        cacheMaxAge: KEYS_FOR_MS,
        [customFetch]: call,
      });
    });
    return { kind: 'set', keyOf };
  }

  /** Measures how long fetching keys takes (AU-9). */
  private timedFetch(call: OutsideFetch, source: FetchOf): OutsideFetch {
    const timer = this.options.metrics.histogram(`nomad_acl_jwt_${source}`, `nomad.acl.jwt.${source}`);
    return async (url, request) => {
      const begun = performance.now();
      try {
        return await call(url, request);
      } finally {
        timer.observe((performance.now() - begun) / 1_000);
      }
    };
  }
}

/** FetchOf is the kind of fetched keys in the metric. */
type FetchOf = 'jwks' | 'oidc_jwt';

/** Decodes the keys of a method. Reading a key takes a millisecond. */
const staticKeys = (pems: readonly string[]): VerificationKeys => ({ kind: 'static', keys: publicKeys(pems) });

const given = (pem: string): readonly string[] => (pem === '' ? [] : [pem]);
