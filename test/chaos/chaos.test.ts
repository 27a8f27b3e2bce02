import { randomInt } from 'node:crypto';
import { expect, it } from 'vitest';
import { runChaos } from './chaos-run.js';

const SEED = Number(process.env['WAYBILL_TEST_SEED'] ?? randomInt(2 ** 31));
const FOR_MS = 40_000;

it(
  `kills and freezes for 40 s: nothing acknowledged is lost, nothing runs double (WAYBILL_TEST_SEED=${SEED})`,
  { timeout: 300_000 },
  async () => {
    const told: string[] = [];
    const { findings, verified, verification, ...report } = await runChaos({
      seed: SEED,
      forMs: FOR_MS,
      say: (line) => told.push(line),
    });
    expect(findings, told.join('\n')).toEqual([]);
    expect(verified, verification).toBe(true);
    expect(report.kills + report.freezes).toBeGreaterThan(0);
    expect(report.acknowledged).toBeGreaterThan(0);
  },
);
