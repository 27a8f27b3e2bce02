import { expect, it } from 'vitest';
import { formatDuration, parseDuration } from './duration.js';

it('CL-144: prints durations in the notation of the messages', () => {
  const samples: [number, string][] = [
    [0, '0s'],
    [500e6, '500ms'],
    [15e9, '15s'],
    [16.2e9, '16.2s'],
    [90e9, '1m30s'],
    [1800e9, '30m0s'],
    [3600e9, '1h0m0s'],
    [86_400e9, '24h0m0s'],
    [-5e9, '-5s'],
    [1500, '1.5µs'],
    [69_300, '69.3µs'],
    [1_500e6, '1.5s'],
    [250e6, '250ms'],
    [999, '999ns'],
  ];
  for (const [ns, text] of samples) expect(formatDuration(ns)).toBe(text);
});

it('reads durations as people write them', () => {
  const samples: [string, number | undefined][] = [
    ['0', 0],
    ['4h', 4 * 3600e9],
    ['1h30m', 5400e9],
    ['1.5s', 1.5e9],
    ['.5ms', 0.5e6],
    ['20µs', 20_000],
    ['-5m', -300e9],
    ['5', undefined],
    ['', undefined],
    ['4 h', undefined],
    ['h', undefined],
    ['1h-5m', undefined],
  ];
  for (const [text, ns] of samples) expect([text, parseDuration(text)]).toEqual([text, ns]);
});
