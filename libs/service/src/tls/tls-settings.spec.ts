import { expect, it } from 'vitest';
import { readSettings, SettingsError } from '../settings.js';
import { natsTlsFiles } from './tls-settings.js';

const FILES = { WAYBILL_TLS_CERT_FILE: '/cert', WAYBILL_TLS_KEY_FILE: '/key' };

function problems(env: NodeJS.ProcessEnv): readonly string[] {
  try {
    readSettings(env, []);
    return [];
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
}

it.each([
  [{ WAYBILL_TLS_HTTP: 'true' }, 'WAYBILL_TLS_HTTP=true needs WAYBILL_TLS_CERT_FILE'],
  [{ WAYBILL_TLS_CERT_FILE: '/cert' }, 'WAYBILL_TLS_CERT_FILE and WAYBILL_TLS_KEY_FILE belong together'],
  [{ WAYBILL_NATS_KEY_FILE: '/key' }, 'WAYBILL_NATS_CERT_FILE and WAYBILL_NATS_KEY_FILE belong together'],
  [{ ...FILES, WAYBILL_TLS_CA_FILE: '/ca', WAYBILL_TLS_VERIFY_HTTPS_CLIENT: 'true' }, 'needs WAYBILL_TLS_HTTP=true'],
  [
    { ...FILES, WAYBILL_TLS_HTTP: 'true', WAYBILL_TLS_VERIFY_HTTPS_CLIENT: 'true' },
    'WAYBILL_TLS_VERIFY_HTTPS_CLIENT=true needs WAYBILL_TLS_CA_FILE',
  ],
  [{ WAYBILL_TLS_MIN_VERSION: 'tls11' }, 'tls12 or tls13; older versions are not spoken'],
])('OP-220: %j is refused', (env, text) => {
  expect(problems(env)).toEqual([expect.stringContaining(text)]);
});

it('OP-222: certificates of callers are asked for with all that takes', () => {
  const whole = { WAYBILL_TLS_HTTP: 'true', WAYBILL_TLS_CA_FILE: '/ca', WAYBILL_TLS_VERIFY_HTTPS_CLIENT: 'true' };
  expect(problems({ ...FILES, ...whole })).toEqual([]);
});

it('OP-224: NATS is shown what everybody is shown, or what is set for it', () => {
  const shared = readSettings({ ...FILES, WAYBILL_TLS_CA_FILE: '/ca' }, []);
  expect(natsTlsFiles(shared)).toEqual({ caFile: '/ca', certFile: '/cert', keyFile: '/key', minVersion: 'TLSv1.2' });
  const own = { WAYBILL_NATS_CA_FILE: '/n/ca', WAYBILL_NATS_CERT_FILE: '/n/cert', WAYBILL_NATS_KEY_FILE: '/n/key' };
  expect(natsTlsFiles(readSettings({ ...FILES, ...own, WAYBILL_TLS_MIN_VERSION: 'tls13' }, []))).toEqual({
    caFile: '/n/ca',
    certFile: '/n/cert',
    keyFile: '/n/key',
    minVersion: 'TLSv1.3',
  });
});
