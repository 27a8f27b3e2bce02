import { constants } from 'node:os';

/** A task without a `kill_signal` gets this signal when it is stopped (AG-275). */
export const DEFAULT_KILL_SIGNAL = 'SIGINT';

/** The signal of this name, with or without `SIG`, in any case; undefined if there is none. */
export function signalNamed(name: string): NodeJS.Signals | undefined {
  const upper = name.toUpperCase();
  const full = upper.startsWith('SIG') ? upper : `SIG${upper}`;
  return Object.hasOwn(constants.signals, full) ? (full as NodeJS.Signals) : undefined;
}

/** AG-258: the signal that stops a task. @throws when there is none of this name */
export function killSignal(name: string): NodeJS.Signals {
  const known = signalNamed(name);
  if (!known) throw new Error(`signal "${name}" is not known on this machine`);
  return known;
}

/** AG-258: a name that is not known is SIGINT here. */
export const signalOrInterrupt = (name: string): NodeJS.Signals => signalNamed(name) ?? 'SIGINT';

/** AG-256: the signal that ended a process with this code, as shells and engines show it; 0: none. */
export const signalOfCode = (code: number): number => (code > 128 && code < 128 + 65 ? code - 128 : 0);
