import { runProgram } from './program.js';

const interrupt = new AbortController();
process.once('SIGINT', () => {
  interrupt.abort();
  // A second one ends at once.
  process.once('SIGINT', () => process.exit(130));
});

// CL-136: a reader that closes the pipe has seen enough.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

process.exitCode = await runProgram(process.argv[1] ?? 'waybill', process.argv.slice(2), {
  env: process.env,
  stdout: process.stdout,
  stderr: process.stderr,
  interrupt: interrupt.signal,
});
