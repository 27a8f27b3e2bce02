import { Metrics } from '@waybill/telemetry';
import fastify from 'fastify';
import { describe, expect, it } from 'vitest';
import { isWaiting, measureAnswers } from './answer-metrics.js';

describe('metrics of answers', () => {
  it('counts by method and status, and times what does not wait', async () => {
    const server = fastify();
    const metrics = new Metrics('api');
    measureAnswers(server, metrics);
    server.get('/v1/jobs', () => []);
    server.put('/v1/jobs', (_, reply) => reply.code(500).send('no'));
    await server.inject('/v1/jobs');
    await server.inject('/v1/jobs?index=7&wait=1s');
    await server.inject({ method: 'PUT', url: '/v1/jobs' });
    await server.inject('/v1/nothing');
    const { counters, distributions } = await metrics.figures('waybill_http_');
    expect(counters.map(({ labels, value }) => [labels['method'], labels['status'], value])).toEqual([
      ['GET', '200', 2],
      ['PUT', '500', 1],
      ['GET', '404', 1],
    ]);
    expect(distributions.map(({ labels, count }) => [labels['method'], count])).toEqual([
      ['GET', 2],
      ['PUT', 1],
    ]);
  });

  it.each([
    ['/v1/event/stream', true],
    ['/v1/agent/monitor?log_level=info', true],
    ['/v1/client/fs/logs/1?follow=true', true],
    ['/v1/client/allocation/1/exec', true],
    ['/v1/client/allocation/1/stats', false],
    ['/v1/jobs', false],
  ])('%s goes on: %s', (url, expected) => {
    expect(isWaiting({ url, query: {} })).toBe(expected);
  });
});
