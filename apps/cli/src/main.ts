import { isatty } from 'node:tty';
import { Interrupts } from './terminal/interrupts.js';
import { runProgram } from './program.js';

const interrupts = new Interrupts();
process.on('SIGINT', () => {
  // Another Ctrl-C after the run was ended exits at once.
  if (interrupts.signal.aborted) process.exit(130);
  interrupts.press();
});

// A closed pipe is not an error, because its reader has seen enough (CL-136).
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

process.exitCode = await runProgram(process.argv[1] ?? 'waybill', process.argv.slice(2), {
  env: process.env,
  stdinIsTTY: isatty(0),
  stdout: process.stdout,
  stderr: process.stderr,
  interrupts,
});
