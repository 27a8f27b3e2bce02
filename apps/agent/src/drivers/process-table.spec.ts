import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ProcessTables } from './process-table.js';

describe.runIf(process.platform === 'linux')('the processes of this machine', () => {
  it('however many look at the same time, few files are open', async () => {
    const tables = new ProcessTables();
    const before = readdirSync('/proc/self/fd').length;
    let most = 0;
    const watching = setInterval(() => (most = Math.max(most, readdirSync('/proc/self/fd').length)), 0);
    onTestFinished(() => clearInterval(watching));
    await Promise.all(Array.from({ length: 50 }, () => tables.fresh()));
    expect(most - before).toBeLessThan(100);
  });

  it('a fresh look has what was started before it', async () => {
    const tables = new ProcessTables();
    const earlier = tables.now();
    const child = spawn('sleep', ['60']);
    onTestFinished(() => void child.kill());
    const { rows } = await tables.fresh();
    expect(rows.map(({ pid }) => pid)).toContain(child.pid);
    await earlier;
  });
});
