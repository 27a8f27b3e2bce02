import { createRemoteJWKSet, customFetch } from 'jose';
import type { AuthMethodConfig, Clock } from '@waybill/model';
import type { Metrics } from '@waybill/telemetry';
import { BoundedCache } from '../bounded-cache.js';
import { CALL_TIMEOUT_MS, type OutsideFetch } from '../outside-calls.transport.js';
import { providerMetadata, type ProviderMetadata } from '../provider-metadata.js';
import { publicKeys } from './public-keys.js';
import type { KeyLookup, VerificationKeys } from './signature.js';

/** Where the keys of a method come from. */
export type KeyConfig = Pick<
  AuthMethodConfig,
  'JWTValidationPubKeys' | 'JWKSURL' | 'JWKSCACert' | 'OIDCDiscoveryURL' | 'DiscoveryCaPem'
>;

export interface KeySourcesOptions {
  readonly clock: Clock;
  /** Calls providers, with certificates of these authorities. */
  readonly fetchWith: (authorities: readonly string[]) => OutsideFetch;
  readonly metrics: Pick<Metrics, 'histogram'>;
}

/** Providers and key sets that are known at a time: more than anybody has methods. */
const MAX_PROVIDERS = 256;
/** How long a provider's metadata counts (AU-106). */
export const METADATA_FOR_MS = 6 * 3_600_000;
/** How long a fetched set of keys counts; a key that it lacks fetches it anew before. */
export const KEYS_FOR_MS = 10 * 60_000;
/** A set is fetched at most this often, however many tokens name keys that it does not have, ms. */
export const KEYS_PAUSE_MS = 1_000;

/**
 * Keys and metadata of providers, fetched when somebody logs in, and kept: metadata for METADATA_FOR_MS, key sets for
 * KEYS_FOR_MS (AU-72, AU-73, AU-106). However many log in at once, one fetch is under way for each. What cannot be fetched
 * fails the login and is tried again by the next.
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

  /** The keys of a method's tokens, from exactly one source. @throws UnreadableKeyError, ProviderMetadataError, OutsideCallError */
  async of(config: KeyConfig): Promise<VerificationKeys> {
    const pems = config.JWTValidationPubKeys ?? [];
    if (pems.length > 0) return this.statics.of(JSON.stringify(pems), async () => staticKeys(pems));
    if (config.JWKSURL !== '') return this.set(config.JWKSURL, given(config.JWKSCACert), 'jwks');
    return this.ofProvider(config);
  }

  /** The keys of the provider that a method names. @throws ProviderMetadataError, OutsideCallError */
  async ofProvider(config: Pick<KeyConfig, 'OIDCDiscoveryURL' | 'DiscoveryCaPem'>): Promise<VerificationKeys> {
    const authorities = config.DiscoveryCaPem ?? [];
    const { jwks_uri } = await this.metadataOf(config.OIDCDiscoveryURL, authorities);
    return this.set(jwks_uri, authorities, 'oidc_jwt');
  }

  /** @throws ProviderMetadataError, OutsideCallError */
  metadataOf(discoveryUrl: string, authorities: readonly string[]): Promise<ProviderMetadata> {
    return this.metadata.of(JSON.stringify([discoveryUrl, authorities]), () =>
      providerMetadata(discoveryUrl, this.options.fetchWith(authorities)),
    );
  }

  private async set(url: string, authorities: readonly string[], source: FetchOf): Promise<VerificationKeys> {
    const keyOf = await this.sets.of(JSON.stringify([url, authorities]), async () => {
      const call = this.timed(this.options.fetchWith(authorities), source);
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
  private timed(call: OutsideFetch, source: FetchOf): OutsideFetch {
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

/** Which keys a fetch is for, as the metric names it. */
type FetchOf = 'jwks' | 'oidc_jwt';

/** Reading a key takes a millisecond. */
const staticKeys = (pems: readonly string[]): VerificationKeys => ({ kind: 'static', keys: publicKeys(pems) });

const given = (pem: string): readonly string[] => (pem === '' ? [] : [pem]);
