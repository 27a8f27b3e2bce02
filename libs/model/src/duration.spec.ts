import { expect, it } from 'vitest';
import { formatDuration } from './duration.js';

it('prints durations in the notation of the messages', () => {
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
    [999, '999ns'],
  ];
  for (const [ns, text] of samples) expect(formatDuration(ns)).toBe(text);
});
