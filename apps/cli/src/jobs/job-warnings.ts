import type { Terminal } from '../terminal/terminal.js';

/** Prints the warnings of an answer; empty warnings print nothing (CL-166). */
export function printJobWarnings(terminal: Terminal, warnings: string | undefined): void {
  if (warnings) terminal.print(`${terminal.boldYellow('Job Warnings:')}\n${warnings}\n`);
}
