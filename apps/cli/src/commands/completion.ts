import type { OfflineCommand } from '../command-spec.js';
import { completionScript, SHELLS, startCommand } from '../completion/completion-scripts.js';
import { ArgumentFailure } from '../failure.js';

/** Prints the completion script of a shell instead of installing it (CL-175). */
export const command: OfflineCommand = {
  offline: true,
  usage: 'bash|zsh|fish',
  description:
    'Prints a script that completes commands, flags and IDs in a shell. For this shell only: source <(waybill ' +
    'completion bash). Permanently: waybill -autocomplete-install.',
  flags: [],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: bash, zsh or fish' },
  async run({ args, program, terminal }) {
    const shell = SHELLS.find((one) => one === args[0]);
    if (!shell) throw new ArgumentFailure('This command takes one argument: bash, zsh or fish');
    terminal.print(completionScript(shell, program, startCommand(process.argv[1] ?? program, process.execPath)));
    return 0;
  },
};
