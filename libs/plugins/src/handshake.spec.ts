import { describe, expect, it } from 'vitest';
import { handshakeEnvironment, parseHandshake } from './handshake.js';

describe('the handshake line', () => {
  it('PG-1, PG-2: a plugin is told the cookie and the version, and says where it listens', () => {
    expect(handshakeEnvironment()).toEqual({
      NOMAD_PLUGIN_MAGIC_COOKIE: 'e4327c2e01eabfd75a8a67adb114fb34a757d57eee7728d857a8cec6e91a7255',
      PLUGIN_MIN_PORT: '10000',
      PLUGIN_MAX_PORT: '25000',
      PLUGIN_PROTOCOL_VERSIONS: '2',
    });
    expect(parseHandshake('1|2|unix|/run/plugin3127834|grpc|')).toEqual({
      network: 'unix',
      address: '/run/plugin3127834',
    });
    expect(parseHandshake('1|2|tcp|127.0.0.1:10001|grpc||true\n').network).toBe('tcp');
  });

  it.each([
    ['2|2|unix|/s|grpc', 'incompatible core API version with plugin. Plugin version: 2, Core version: 1'],
    ['1|1|unix|/s|grpc', 'Incompatible API version with plugin. Plugin version: 1, Client versions: [2]'],
    ['1|2|udp|/s|grpc', 'unknown address type: udp'],
    ['1|2|unix|/s|netrpc', 'unsupported plugin protocol "netrpc". Supported: [grpc]'],
    ['1|2|unix|/s', 'unsupported plugin protocol "netrpc". Supported: [grpc]'],
    ['1|2|unix', 'Unrecognized remote plugin message: 1|2|unix'],
    ['warning|of|a|library|here', 'Unrecognized remote plugin message: warning|of|a|library|here'],
  ])('PG-2, PG-131: %s is refused', (line, message) => {
    expect(() => parseHandshake(line)).toThrow(message);
  });

  it('PG-4: a plugin that answers with a certificate is refused', () => {
    expect(() => parseHandshake(`1|2|unix|/s|grpc|${'a'.repeat(51)}`)).toThrow(/wants TLS/);
    expect(parseHandshake(`1|2|unix|/s|grpc|${'a'.repeat(50)}`).address).toBe('/s');
  });
});
