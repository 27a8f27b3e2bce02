// How fast the machine is at this moment. As a program, `node bench/yardstick.mjs` prints the milliseconds of CPU that a
// fixed piece of work takes: a process of its own has neither the heap nor the compiled code of a benchmark that ran before.
import { execFileSync } from 'node:child_process';

/** About 0.1 s each. The fastest counts: the first one is compiled on the way, and any may lose its caches to a neighbour. */
const ROUNDS = 3;
const RECORDS = 10_000;
const PASSES = 3;
/** All of it in the thread that is timed. */
const NODE_ARGS = ['--single-threaded-gc', '--max-semi-space-size=32'];

/** Milliseconds of one thread's fixed work, now. Takes three times as long. */
export function yardstickMs() {
  return Number(execFileSync(process.execPath, [...NODE_ARGS, import.meta.filename], { encoding: 'utf8' }));
}

/** What services do most: text to objects and back, and records in maps. The same at every call. */
export function yardstick() {
  /** @type {Map<string, { id: string, index: number, tags: string[], at: { node: string, weight: number } }>} */
  const byId = new Map();
  let checksum = 0;
  for (let pass = 0; pass < PASSES; pass += 1)
    for (let n = 0; n < RECORDS; n += 1) {
      const id = `record-${(n * 7919) % RECORDS}`;
      const before = byId.get(id);
      const written = JSON.stringify({
        id,
        index: (before?.index ?? 0) + n,
        tags: [`pass-${pass}`, `shard-${n % 16}`],
        at: { node: `node-${n % 500}`, weight: n % 97 },
      });
      const record = { ...before, ...JSON.parse(written) };
      byId.set(id, record);
      checksum = (checksum + record.index * record.at.weight + written.length) % 1_000_000_007;
    }
  return checksum;
}

if (process.argv[1] === import.meta.filename) {
  let fastest = Infinity;
  for (let round = 0; round < ROUNDS; round += 1) {
    const before = process.cpuUsage();
    yardstick();
    const { user, system } = process.cpuUsage(before);
    fastest = Math.min(fastest, (user + system) / 1_000);
  }
  process.stdout.write(`${fastest.toFixed(1)}\n`);
}
