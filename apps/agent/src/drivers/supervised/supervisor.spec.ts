import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { allocOfRun, asItIs, newRun, processOf, supervise, troubleOf } from './supervisor.js';

let dir: string;
let nowhere: number;
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'waybill-supervisor-'));
  nowhere = openSync('/dev/null', 'w');
});
afterEach(() => {
  closeSync(nowhere);
  rmSync(dir, { recursive: true, force: true });
});

it('AG-271: a task whose oom_score_adj the machine refuses does not start, and it is said why', async () => {
  const runDir = path.join(dir, 'run');
  const supervisor = await supervise({
    runDir,
    commandLine: asItIs({ runDir, placed: false, oomScoreAdj: 5_000 }, ['/bin/sh', '-c', `: > ${dir}/ran`]),
    cwd: dir,
    env: {},
    stdout: nowhere,
    stderr: nowhere,
    dieWithAgent: false,
  });
  expect(supervisor.exitCode).toBe(0);
  expect(await processOf(runDir)).toBeUndefined();
  expect(await troubleOf(runDir)).toBe('oom_score_adj cannot be 5000 on this machine');
});

it('AG-445: the name of a run says whose it is', () => {
  const allocId = '3f0c9d9e-0000-4000-8000-000000000001';
  expect(newRun(allocId)).not.toBe(newRun(allocId));
  expect(allocOfRun(newRun(allocId))).toBe(allocId);
});
