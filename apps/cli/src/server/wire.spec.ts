import { EventEmitter } from 'node:events';
import type { ClientRequest } from 'node:http';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { CONNECT_LIMITS, limitConnecting } from './wire.js';

/** What a request and its socket show of connecting; the test plays the network. */
function connecting(isTls: boolean) {
  const ended: string[] = [];
  const sent = Object.assign(new EventEmitter(), { destroy: (error: Error) => ended.push(error.message) });
  const socket = Object.assign(new EventEmitter(), { connecting: true });
  limitConnecting(sent as unknown as ClientRequest, isTls);
  sent.emit('socket', socket);
  return { socket, ended };
}

describe('CL-125: how long a connection may take', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('30 s until it stands, and no limit for the answer', () => {
    const slow = connecting(false);
    vi.advanceTimersByTime(CONNECT_LIMITS.connectMs - 1);
    expect(slow.ended).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(slow.ended).toEqual(['no connection within 30 s']);
    const quick = connecting(false);
    quick.socket.emit('connect');
    vi.advanceTimersByTime(3_600_000);
    expect(quick.ended).toEqual([]);
  });

  it('10 s for TLS to agree, counted from the connection', () => {
    const { socket, ended } = connecting(true);
    vi.advanceTimersByTime(29_000);
    socket.emit('connect');
    vi.advanceTimersByTime(CONNECT_LIMITS.handshakeMs - 1);
    expect(ended).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(ended).toEqual(['no TLS handshake within 10 s']);
    const agreed = connecting(true);
    agreed.socket.emit('connect');
    agreed.socket.emit('secureConnect');
    vi.advanceTimersByTime(3_600_000);
    expect(agreed.ended).toEqual([]);
  });

  it('one that is given up leaves nothing running', () => {
    const { socket } = connecting(true);
    socket.emit('close');
    expect(vi.getTimerCount()).toBe(0);
  });
});
