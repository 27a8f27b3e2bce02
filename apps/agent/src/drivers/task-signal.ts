import { constants } from 'node:os';

/** A task without a `kill_signal` gets this signal when it is stopped (AG-275). */
export const DEFAULT_KILL_SIGNAL = 'SIGINT';

/** The signal of this name, with or without `SIG`, in any case; undefined if there is none. */
export function signalNamed(name: string): NodeJS.Signals | undefined {
  const upper = name.toUpperCase();
  const full = upper.startsWith('SIG') ? upper : `SIG${upper}`;
  return Object.hasOwn(constants.signals, full) ? (full as NodeJS.Signals) : undefined;
}

/** The signal that stops a task (AG-258). @throws Error if no signal has the name */
export function killSignal(name: string): NodeJS.Signals {
  const known = signalNamed(name);
  if (!known) throw new Error(`signal "${name}" is not known on this machine`);
  return known;
}

/** The signal of that name; SIGINT if the name is unknown (AG-258). */
export const signalOrInterrupt = (name: string): NodeJS.Signals => signalNamed(name) ?? 'SIGINT';

/** The signal that an exit code of a shell or an engine stands for; 0: none (AG-256). */
export const signalOfCode = (code: number): number => (code > 128 && code < 128 + 65 ? code - 128 : 0);
