import { constants } from 'node:os';

/** The stop signal of a task without a `kill_signal` (AG-275). */
export const DEFAULT_KILL_SIGNAL = 'SIGINT';

/** Returns the signal with this name, or undefined if there is none. The prefix `SIG` and the case do not matter. */
export function signalNamed(name: string): NodeJS.Signals | undefined {
  const upper = name.toUpperCase();
  const full = upper.startsWith('SIG') ? upper : `SIG${upper}`;
  return Object.hasOwn(constants.signals, full) ? (full as NodeJS.Signals) : undefined;
}

/** Returns the signal that stops a task (AG-258). @throws Error if no signal has the name */
export function killSignal(name: string): NodeJS.Signals {
  const known = signalNamed(name);
  if (!known) throw new Error(`signal "${name}" is not known on this machine`);
  return known;
}

/** Returns the signal with this name, or SIGINT if the name is unknown (AG-258). */
export const signalOrInterrupt = (name: string): NodeJS.Signals => signalNamed(name) ?? 'SIGINT';

/** Returns the signal that an exit code of a shell or an engine stands for, or 0 for none (AG-256). */
export const signalOfCode = (code: number): number => (code > 128 && code < 128 + 65 ? code - 128 : 0);
