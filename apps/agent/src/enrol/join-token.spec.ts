import { describe, expect, it } from 'vitest';
import { decodeJoinToken, encodeJoinToken, JoinTokenError } from './join-token.js';

const JOIN = {
  nats: 'nats://10.0.0.7:4222',
  node: '4f3a9c2e-0000-4000-8000-000000000003',
  seed: `SU${'A'.repeat(56)}`,
};

describe('the token of a machine that joins', () => {
  it('is one word that says all of it', () => {
    const token = encodeJoinToken(JOIN);
    expect(token).toMatch(/^waybill-join-[\w-]+$/);
    expect(decodeJoinToken(`${token}\n`)).toEqual(JOIN);
  });

  it('AU-265: may introduce the machine in place of its key', () => {
    const join = { nats: 'tls://nats.example.com:4222', introduction: 'e30.e30.x-y_z' };
    expect(decodeJoinToken(encodeJoinToken(join))).toEqual(join);
  });

  it.each([
    ['nothing', ''],
    ['one with neither key nor introduction', encodeJoinToken({ nats: JOIN.nats, introduction: '' })],
    ['one with an introduction of several lines', encodeJoinToken({ nats: JOIN.nats, introduction: 'a.b.c\nd' })],
    ['another word', 'hello'],
    ['half of one', encodeJoinToken(JOIN).slice(0, 80)],
    ['one without a key', encodeJoinToken({ ...JOIN, seed: '' })],
    ['one whose id is a path', encodeJoinToken({ ...JOIN, node: '../../etc' })],
    ['one that leads to no NATS', encodeJoinToken({ ...JOIN, nats: 'http://10.0.0.7' })],
  ])('is refused as %s, without being shown', (_what, text) => {
    expect(() => decodeJoinToken(text)).toThrow(JoinTokenError);
  });
});
