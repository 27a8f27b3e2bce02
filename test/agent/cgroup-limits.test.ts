import { type ChildProcess, spawn } from 'node:child_process';
import { appendFileSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { cgroupLimits, readCgroupFacts } from '@waybill/agent';
import { eventually } from '../support/wait.js';

const MIB = 2 ** 20;
/** Of this test alone, whoever else runs it. */
const NAME = `waybill-limits-${process.pid}`;
const made: string[] = [];
let child: ChildProcess | undefined;

afterEach(async () => {
  if (child?.exitCode === null) {
    const ended = new Promise((resolve) => child?.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
  }
  // The process has ended, but the kernel takes it out of its cgroup a moment later.
  for (const directory of made.splice(0)) await eventually(`${directory} is removed`, () => isRemoved(directory));
});

function isRemoved(directory: string): boolean {
  try {
    rmdirSync(directory);
    return true;
  } catch {
    return false;
  }
}

function treeOf(type: string, controller?: string): string {
  const mounted = readFileSync('/proc/self/mounts', 'utf8').split('\n');
  const found = mounted
    .map((line) => line.split(' '))
    .find((one) => one[2] === type && (controller === undefined || one[3]?.split(',').includes(controller)));
  if (found?.[1] === undefined) throw new Error(`no tree of ${type} ${controller ?? ''}`);
  return found[1];
}

function cgroupIn(tree: string, files: Record<string, string>): string {
  const directory = path.join(tree, NAME);
  mkdirSync(directory);
  made.push(directory);
  for (const [name, value] of Object.entries(files)) writeFileSync(path.join(directory, name), value);
  return directory;
}

/** Cgroups with 96 MiB and three quarters of a processor, one that has both or one for each; undefined: not on this machine. */
function boundedCgroups(): string[] | undefined {
  try {
    const second = treeOf('cgroup2');
    appendFileSync(path.join(second, 'cgroup.subtree_control'), '+memory +cpu');
    return [cgroupIn(second, { 'memory.max': String(96 * MIB), 'cpu.max': '75000 100000' })];
  } catch {
    // The second version is not here, or has other controllers.
  }
  try {
    return [
      cgroupIn(treeOf('cgroup', 'memory'), { 'memory.limit_in_bytes': String(96 * MIB) }),
      cgroupIn(treeOf('cgroup', 'cpu'), { 'cpu.cfs_period_us': '100000', 'cpu.cfs_quota_us': '75000' }),
    ];
  } catch {
    return undefined;
  }
}

describe('limits of a real cgroup', () => {
  it('AG-20: are found for a process in it, and for one that is in a cgroup below', (context) => {
    const cgroups = boundedCgroups();
    if (!cgroups) return context.skip('this machine lets nobody make cgroups with limits');
    child = spawn('sleep', ['600'], { stdio: 'ignore' });
    const limits = () => cgroupLimits(readCgroupFacts(`/proc/${child!.pid}`));
    for (const cgroup of cgroups) writeFileSync(path.join(cgroup, 'cgroup.procs'), String(child.pid));
    const expected = { memoryBytes: { amount: 96 * MIB }, cpus: { amount: 0.75 } };
    expect(limits()).toMatchObject(expected);

    for (const cgroup of cgroups) {
      const inner = path.join(cgroup, 'inner');
      mkdirSync(inner);
      made.unshift(inner);
      writeFileSync(path.join(inner, 'cgroup.procs'), String(child.pid));
    }
    expect(readCgroupFacts(`/proc/${child.pid}`).membership).toContain(`/${NAME}/inner`);
    expect(limits()).toMatchObject(expected);
  });
});
