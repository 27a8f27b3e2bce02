import type { NatsTlsFiles } from '@waybill/journal';
import { z } from 'zod';
import { duration, flag } from '../setting-forms.js';

const file = z.string().default('');

/** How a process proves its identity and verifies others on every encrypted connection. Files are PEM. */
export const TLS_SETTINGS = {
  WAYBILL_TLS_CA_FILE: file.describe(
    'file with the certificates of the authorities that others are checked with: NATS, other regions, callers of the API; empty: those of the system',
  ),
  WAYBILL_TLS_CERT_FILE: file.describe(
    'file with the certificate of this process, which it shows to callers of the API, and to NATS and other regions if they ask',
  ),
  WAYBILL_TLS_KEY_FILE: file.describe('file with the key of that certificate'),
  WAYBILL_TLS_MIN_VERSION: z
    .enum(['tls12', 'tls13'], 'tls12 or tls13; older versions are not spoken')
    .default('tls12')
    .describe('least version of TLS, tls12 or tls13'),
  WAYBILL_TLS_HTTP: flag
    .default(false)
    .describe('api: serve /v1 over TLS only, and ask the APIs of other regions over TLS only'),
  WAYBILL_TLS_VERIFY_HTTPS_CLIENT: flag
    .default(false)
    .describe('api: callers need a certificate of WAYBILL_TLS_CA_FILE'),
  WAYBILL_TLS_VERIFY_SERVER_HOSTNAME: flag
    .default(true)
    .describe(
      'api: an API of another region has to prove the name server.<region>.nomad; false: the host it is reached at',
    ),
  WAYBILL_TLS_HANDSHAKE_TIMEOUT: duration('5s').describe(
    'api: how long a caller may take to agree on TLS; 0: for ever',
  ),
  WAYBILL_NATS_CA_FILE: file.describe('the authorities that NATS is checked with; empty: as WAYBILL_TLS_CA_FILE says'),
  WAYBILL_NATS_CERT_FILE: file.describe('certificate that NATS is shown; empty: that of WAYBILL_TLS_CERT_FILE'),
  WAYBILL_NATS_KEY_FILE: file.describe('file with the key of that certificate'),
} as const;

type TlsSettings = { readonly [name in keyof typeof TLS_SETTINGS]: z.output<(typeof TLS_SETTINGS)[name]> };

/** Returns the contradictions between TLS settings that are valid on their own. */
export function tlsContradictions(settings: TlsSettings): string[] {
  const problems: string[] = [];
  for (const kind of ['TLS', 'NATS'] as const) {
    const [cert, key] = [`WAYBILL_${kind}_CERT_FILE`, `WAYBILL_${kind}_KEY_FILE`] as const;
    if ((settings[cert] === '') !== (settings[key] === ''))
      problems.push(`${cert} and ${key} belong together: one of them is not set`);
  }
  if (settings.WAYBILL_TLS_HTTP && settings.WAYBILL_TLS_CERT_FILE === '')
    problems.push('WAYBILL_TLS_HTTP=true needs WAYBILL_TLS_CERT_FILE and WAYBILL_TLS_KEY_FILE');
  if (!settings.WAYBILL_TLS_VERIFY_HTTPS_CLIENT) return problems;
  if (!settings.WAYBILL_TLS_HTTP) problems.push('WAYBILL_TLS_VERIFY_HTTPS_CLIENT=true needs WAYBILL_TLS_HTTP=true');
  if (settings.WAYBILL_TLS_CA_FILE === '')
    problems.push(
      'WAYBILL_TLS_VERIFY_HTTPS_CLIENT=true needs WAYBILL_TLS_CA_FILE: anybody has a certificate of an authority of the system',
    );
  return problems;
}

/** Node's names of the versions. */
export const TLS_VERSIONS = { tls12: 'TLSv1.2', tls13: 'TLSv1.3' } as const;

/** Returns the files for connections to NATS. */
export function natsTlsFiles(settings: TlsSettings): NatsTlsFiles {
  const own = settings.WAYBILL_NATS_CERT_FILE !== '';
  return {
    caFile: settings.WAYBILL_NATS_CA_FILE || settings.WAYBILL_TLS_CA_FILE,
    certFile: own ? settings.WAYBILL_NATS_CERT_FILE : settings.WAYBILL_TLS_CERT_FILE,
    keyFile: own ? settings.WAYBILL_NATS_KEY_FILE : settings.WAYBILL_TLS_KEY_FILE,
    minVersion: TLS_VERSIONS[settings.WAYBILL_TLS_MIN_VERSION],
  };
}
