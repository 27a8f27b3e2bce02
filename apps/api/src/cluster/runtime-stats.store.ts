import { arch, availableParallelism, platform } from 'node:os';

/**
 * Returns figures of this process as clients of the reference read them (OP-73). All are texts, and active handles
 * stand for goroutines.
 */
export const runtimeStats = (): Readonly<Record<string, string>> => ({
  'kernel.name': platform(),
  arch: arch(),
  version: process.version,
  cpu_count: String(availableParallelism()),
  max_procs: String(availableParallelism()),
  goroutines: String(process.getActiveResourcesInfo().length),
});
