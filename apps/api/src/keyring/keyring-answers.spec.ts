import { describe, expect, it } from 'vitest';
import { rotationOf } from './decisions/rotation.js';
import { discoveryDocument, issuerWarning, maxAgeOf } from './discovery.js';

const NOW_MS = 1_760_000_000_000;
const HOUR_NS = 3_600e9;
const agedHours = (hours: number) => ({ CreateTime: NOW_MS * 1e6 - hours * HOUR_NS });

describe('public keys', () => {
  it('AU-179: others may remember them for half of what is left of the newest key, and up to a tenth more', () => {
    expect(maxAgeOf([agedHours(700), agedHours(1)], 720 * HOUR_NS, NOW_MS, () => 0)).toBe(1_294_200);
    expect(maxAgeOf([agedHours(1)], 720 * HOUR_NS, NOW_MS, () => 1)).toBe(1_423_620);
    expect(maxAgeOf([agedHours(1)], 25 * HOUR_NS, NOW_MS, () => 0)).toBe(12 * 3_600);
    for (const keys of [[], [agedHours(719.9)], [agedHours(10_000)]])
      expect(maxAgeOf(keys, 720 * HOUR_NS, NOW_MS, () => 0)).toBe(15 * 60);
  });

  it.each(['https://waybill.example.org', 'https://waybill.example.org/'])(
    'AU-181: %s says where they are',
    (issuer) => {
      expect(discoveryDocument(issuer)).toEqual({
        issuer,
        jwks_uri: 'https://waybill.example.org/.well-known/jwks.json',
        id_token_signing_alg_values_supported: ['RS256', 'EdDSA'],
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
      });
    },
  );
});

it('AU-182: an issuer without TLS is warned of', () => {
  expect(issuerWarning('http://waybill.example')).toBe(
    'WAYBILL_OIDC_ISSUER = "http://waybill.example" is not using https. Many OIDC implementations require https.',
  );
  expect([issuerWarning(''), issuerWarning('https://waybill.example')]).toEqual([undefined, undefined]);
});

describe('a rotation', () => {
  const later = String(NOW_MS * 1e6 + HOUR_NS);

  it('OP-212: is at once, full, or at a time to come', () => {
    expect(rotationOf({}, NOW_MS)).toEqual({ full: false, publishTime: 0 });
    expect(rotationOf({ full: '', algo: 'aes256-gcm' }, NOW_MS)).toEqual({ full: true, publishTime: 0 });
    expect(rotationOf({ full: 'false', publish_time: later }, NOW_MS)).toEqual({
      full: false,
      publishTime: Number(later),
    });
  });

  it.each([
    [{ full: 'true', publish_time: later }, 'keyring cannot be prepublished and full rotated at the same time'],
    [{ publish_time: 'soon' }, 'invalid publish_time "soon"'],
    [{ publish_time: '5' }, 'publish_time must be in the future'],
    [{ publish_time: '9999999999999999999' }, 'publish_time must be within a year'],
    [{ algo: 'rot13' }, 'invalid algorithm "rot13"'],
    [{ full: 'maybe' }, 'as a bool'],
  ])('OP-212: %j is refused', (query, text) => {
    expect(() => rotationOf(query, NOW_MS)).toThrow(text);
  });
});
