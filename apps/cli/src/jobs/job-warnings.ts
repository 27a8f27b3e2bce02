import type { Terminal } from '../terminal/terminal.js';

/** Prints the warnings of a response. An empty text prints nothing (CL-166). */
export function printJobWarnings(terminal: Terminal, warnings: string | undefined): void {
  if (warnings) terminal.print(`${terminal.boldYellow('Job Warnings:')}\n${warnings}\n`);
}
