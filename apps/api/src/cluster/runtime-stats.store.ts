import { arch, availableParallelism, platform } from 'node:os';

/** This process as clients of the reference read it (OP-73): texts all of them; active handles for goroutines. */
export const runtimeStats = (): Readonly<Record<string, string>> => ({
  'kernel.name': platform(),
  arch: arch(),
  version: process.version,
  cpu_count: String(availableParallelism()),
  max_procs: String(availableParallelism()),
  goroutines: String(process.getActiveResourcesInfo().length),
});
