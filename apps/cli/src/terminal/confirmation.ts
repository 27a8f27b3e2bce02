import type { Call } from '../command-spec.js';
import { causeOf, CommandFailure } from '../failure.js';

/**
 * Asks a `[y/N]` question (CL-163). Resolves with undefined to go on, otherwise with the exit code. @throws
 * CommandFailure
 */
export async function refusal(call: Call, question: string, cancelLine: string): Promise<number | undefined> {
  const answer = await call.ask(`${question} [y/N] `).catch((error: unknown) => {
    throw new CommandFailure(`Failed to parse answer: ${causeOf(error)}`);
  });
  if (answer === 'y') return undefined;
  if (answer === '' || /^n/i.test(answer)) return said(call, cancelLine, 0);
  if (/^y./i.test(answer)) return said(call, 'For confirmation, an exact ‘y’ is required.', 0);
  return said(call, "No confirmation detected. For confirmation, an exact 'y' is required.", 1);
}

function said(call: Call, text: string, exitCode: number): number {
  call.terminal.print(text);
  return exitCode;
}
