import type { PeerCertificate } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { identityCheck, natsTls } from './nats-tls.js';

const certificate = (subjectaltname: string) => ({ subjectaltname, subject: {} }) as unknown as PeerCertificate;

describe('OP-224: TLS to NATS', () => {
  it('is spoken where an address says so, with the files that are named', () => {
    expect(natsTls(['nats://a:4222'], { caFile: '/ca' })).toBeUndefined();
    expect(natsTls(['tls://a:4222', 'b:4222'], { caFile: '/ca', certFile: '', keyFile: '' })).toMatchObject({
      caFile: '/ca',
      minVersion: 'TLSv1.2',
    });
    expect(natsTls(['tls://a'], { certFile: '' })).not.toHaveProperty('certFile');
  });

  it('a server that is known by its address has to have a certificate for that address', () => {
    const check = identityCheck(['10.0.0.7', '::1']);
    expect(check('localhost', certificate('IP Address:10.0.0.7'))).toBeUndefined();
    expect(check('localhost', certificate('IP Address:0:0:0:0:0:0:0:1'))).toBeUndefined();
    expect(check('localhost', certificate('DNS:localhost, IP Address:127.0.0.1'))).toBeInstanceOf(Error);
  });

  it('a server that is known by its name has to have one for that name', () => {
    const check = identityCheck(['nats.example', '10.0.0.7']);
    expect(check('nats.example', certificate('DNS:nats.example'))).toBeUndefined();
    expect(check('nats.example', certificate('IP Address:10.0.0.7'))).toBeInstanceOf(Error);
    expect(identityCheck(['localhost'])('localhost', certificate('DNS:localhost'))).toBeUndefined();
  });
});
