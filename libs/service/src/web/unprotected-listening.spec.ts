import { describe, expect, it } from 'vitest';
import { readSettings } from '../settings.js';
import { isLoopback, unprotectedListening } from './unprotected-listening.js';

const refusalOf = (env: NodeJS.ProcessEnv): string => unprotectedListening(readSettings(env, [])).join('\n');

describe('an address that only this machine reaches', () => {
  it.each(['127.0.0.1', '127.8.9.10', '::1', '0:0:0:0:0:0:0:1', '::ffff:127.0.0.1', 'localhost', 'LOCALHOST'])(
    '%s is one',
    (host) => expect(isLoopback(host)).toBe(true),
  );

  it.each(['0.0.0.0', '::', '10.0.0.7', '128.0.0.1', 'fe80::1', '::ffff:10.0.0.7', 'localhost.example.com', 'api', ''])(
    '%j is none',
    (host) => expect(isLoopback(host)).toBe(false),
  );
});

describe('listening for other machines without access control', () => {
  it('is refused, with both ways out', () => {
    const text = refusalOf({ WAYBILL_HTTP_HOST: '0.0.0.0' });
    expect(text).toContain('WAYBILL_HTTP_HOST=0.0.0.0');
    expect(text).toContain('WAYBILL_ACL_ENABLED=true');
    expect(text).toContain('WAYBILL_HTTP_ALLOW_UNPROTECTED=true');
    expect(text).not.toContain('\n');
  });

  it.each<NodeJS.ProcessEnv>([
    {},
    { WAYBILL_HTTP_HOST: '::1' },
    { WAYBILL_HTTP_HOST: '0.0.0.0', WAYBILL_ACL_ENABLED: 'true' },
    { WAYBILL_HTTP_HOST: '0.0.0.0', WAYBILL_HTTP_ALLOW_UNPROTECTED: 'true' },
  ])('%j is taken', (env) => expect(refusalOf(env)).toBe(''));

  it('a certificate that callers need is no access control: it says nothing of what they may do', () => {
    const tls = { WAYBILL_TLS_HTTP: 'true', WAYBILL_TLS_VERIFY_HTTPS_CLIENT: 'true', WAYBILL_TLS_CA_FILE: '/ca' };
    const files = { WAYBILL_TLS_CERT_FILE: '/cert', WAYBILL_TLS_KEY_FILE: '/key' };
    expect(refusalOf({ ...tls, ...files, WAYBILL_HTTP_HOST: '10.0.0.7' })).not.toBe('');
  });
});
