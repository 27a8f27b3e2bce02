import { describe, expect, it } from 'vitest';
import { type AgentStart, agentStart, WITHOUT_EFFECT } from './agent-start.js';
import { command } from '../commands/agent.js';
import { parseCommandLine } from '../command-line.js';

const start = (...words: string[]): AgentStart =>
  agentStart(parseCommandLine(command, 'agent', words).flags, '/tmp/own');

describe('what agent starts', () => {
  it('CL-921: -dev is everything in a fresh directory of its own, with a log at DEBUG', () => {
    const { mode, app, arguments: words, env, address } = start('-dev');
    expect({ mode, app, words, address }).toEqual({
      mode: 'dev',
      app: 'dev',
      words: ['--port=4646', '--data-dir=/tmp/own', '--empty', '--fresh'],
      address: 'http://127.0.0.1:4646',
    });
    expect(env).toEqual({ WAYBILL_LOG_LEVEL: 'debug', WAYBILL_LOG_FORMAT: 'line', WAYBILL_HTTP_HOST: '127.0.0.1' });
  });

  it('CL-921: what -data-dir names is kept and used again', () => {
    expect(start('-dev', '-data-dir=/data').arguments).toEqual(['--port=4646', '--data-dir=/data', '--empty']);
  });

  it('CL-921: -client is a node agent, -server all but that', () => {
    const client = start('-client', '-data-dir=/data', '-nats=nats://log:4222');
    expect(client).toMatchObject({ app: 'agent', arguments: [], address: null });
    expect(client.env).toMatchObject({ WAYBILL_AGENT_DIR: '/data/agent', WAYBILL_NATS_URL: 'nats://log:4222' });
    const server = start('-server', '-data-dir=/data', '-database=postgres://db/waybill');
    expect(server).toMatchObject({
      app: 'dev',
      arguments: ['--port=4646', '--data-dir=/data', '--empty', '--no-agent'],
    });
    expect(server.env).toMatchObject({ WAYBILL_DATABASE_URL: 'postgres://db/waybill' });
  });

  it('CL-922: flags become settings', () => {
    const words = ['-region=eu', '-dc=dc2', '-node=n', '-node-class=c', '-node-pool=p', '-log-level=WARN', '-log-json'];
    const { env } = start('-dev', ...words, '-meta=a=b=c', '-meta=d=', '-bind=0.0.0.0', '-http-port=5000');
    expect(env).toEqual({
      WAYBILL_REGION: 'eu',
      WAYBILL_DATACENTER: 'dc2',
      WAYBILL_NODE_NAME: 'n',
      WAYBILL_NODE_CLASS: 'c',
      WAYBILL_NODE_POOL: 'p',
      WAYBILL_NODE_META: 'a=b=c,d=',
      WAYBILL_LOG_LEVEL: 'warn',
      WAYBILL_LOG_FORMAT: 'json',
      WAYBILL_HTTP_HOST: '0.0.0.0',
    });
    expect(start('-dev', '-bind=::1', '-http-port=5000').address).toBe('http://[::1]:5000');
  });

  it('CL-923: the values that are shown', () => {
    expect(Object.fromEntries(start('-dev', '-dc=dc2').shown)).toEqual({
      'Advertise Addrs': 'HTTP: 127.0.0.1:4646',
      'Bind Addrs': 'HTTP: 127.0.0.1:4646',
      Client: 'true',
      'Log Level': 'DEBUG',
      Region: 'global (DC: dc2)',
      Server: 'true',
    });
  });

  it.each([
    [[], 'Must specify either server, client or dev mode for the agent.'],
    [['-client'], 'Must specify "data_dir" config option or "data-dir" CLI flag'],
    [['-server'], 'Must specify "data_dir" config option or "data-dir" CLI flag'],
    [['-dev', '-meta=x'], 'Error parsing Client.Meta value: x'],
    [['-dev', '-meta==x'], 'Invalid Client.Meta key: '],
  ])('CL-921 CL-922: %j is refused', (words, text) => {
    expect(() => start(...words)).toThrow(text);
  });

  it('CL-922: flags about raft and gossip are taken', () => {
    expect(WITHOUT_EFFECT).toContain('retry-join');
    expect(() => start('-dev', '-retry-join=1.2.3.4', '-bootstrap-expect=3', '-encrypt=x')).not.toThrow();
  });
});
