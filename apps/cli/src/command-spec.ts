import type { Environment } from './server/environment.js';
import type { Clock } from '@waybill/model';
import type { ApiClient } from './server/api-client.js';
import type { DataPrinter } from './terminal/data-printer.js';
import type { Flag } from './flags/flag.js';
import type { Interrupts } from './terminal/interrupts.js';
import type { ParsedFlags } from './flags/parsed-flags.js';
import type { Terminal } from './terminal/terminal.js';

/** How many arguments a command takes, and what it says otherwise (CL-113). */
export interface ArgumentRule {
  readonly min: number;
  readonly max: number;
  readonly otherwise: string;
}

export const NO_ARGUMENTS: ArgumentRule = { min: 0, max: 0, otherwise: 'This command takes no arguments' };

/** What a command accepts and what its help says. */
interface CommandFace {
  /** Arguments as the help shows them. */
  readonly usage: string;
  /** The short form of the command's words, if any. */
  readonly alias?: string;
  readonly description: string;
  readonly flags: readonly Flag[];
  readonly takes: ArgumentRule;
  /** Arguments of its own; the next one begins another program's command line, which is not looked into (CL-111). */
  readonly ownArguments?: number;
  /** Flags that it does not have are passed over: whatever they are, it does the same. */
  readonly ignoresFlags?: true;
  /** What every failure of the command exits with, instead of its own code; bad flags too. */
  readonly failureExitCode?: number;
}

/** A command that talks to a server, and so takes the general flags too. */
export interface ServerCommand extends CommandFace {
  readonly offline?: false;
  /** What it is about belongs to no namespace, so there is no -namespace (OP-36). */
  readonly withoutNamespace?: true;
  /** Resolves with the exit code. @throws CommandFailure */
  run(call: Call): Promise<number>;
}

/** A command that makes no request. */
export interface OfflineCommand extends CommandFace {
  readonly offline: true;
  /** Resolves with the exit code. @throws CommandFailure */
  run(call: OfflineCall): Promise<number>;
}

/** A command; one module each under `commands/`. */
export type CommandSpec = ServerCommand | OfflineCommand;

/** What was typed, and where to print. */
export type OfflineCall = Pick<Call, 'program' | 'typed' | 'flags' | 'args' | 'terminal'>;

/** Everything a running command may use. */
export interface Call {
  /** Name by which the program was called (CL-101). */
  readonly program: string;
  /** The words behind the program's name, as typed. */
  readonly typed: readonly string[];
  readonly flags: ParsedFlags;
  readonly args: readonly string[];
  readonly api: ApiClient;
  readonly terminal: Terminal;
  /** Prints data for programs; undefined: text for people is wanted. Only for commands that have DATA_FLAGS. */
  readonly data: DataPrinter | undefined;
  /** For settings that are no flags. */
  readonly env: Environment;
  readonly clock: Clock;
  /** Resolves after this many milliseconds; rejects with an AbortError at Ctrl-C, and when `signal` gives it up. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** Asks the person at the terminal; rejects when there is no answer to be had, and when `signal` gives it up. */
  readonly ask: (question: string, signal?: AbortSignal) => Promise<string>;
  /** Whether somebody sits at stdin and stdout, and so can be asked. */
  readonly canAsk: boolean;
  /** 0 to 1. */
  readonly random: () => number;
  /** Aborted by Ctrl-C. */
  readonly interrupt: AbortSignal;
  /** For a command that decides itself what Ctrl-C does. */
  readonly interrupts: Interrupts;
}
