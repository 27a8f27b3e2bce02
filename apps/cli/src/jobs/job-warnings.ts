import type { Terminal } from '../terminal/terminal.js';

/** CL-166. */
export function printJobWarnings(terminal: Terminal, warnings: string | undefined): void {
  if (warnings) terminal.print(`${terminal.boldYellow('Job Warnings:')}\n${warnings}\n`);
}
