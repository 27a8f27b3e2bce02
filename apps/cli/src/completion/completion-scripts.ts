import { quoted, shellWord } from '../terminal/shell-word.js';

/** Shells that can request completions from this program. */
export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/**
 * Returns the script that a shell has to run once (CL-175).
 * @param program the word that users type
 * @param command how to start the program, with words quoted where needed
 */
export function completionScript(shell: Shell, program: string, command: string): string {
  const bash = `complete -o bashdefault -o default -C ${quoted(command)} ${program}`;
  switch (shell) {
    case 'bash':
      return bash;
    case 'zsh':
      return `autoload -U +X bashcompinit && bashcompinit\n${bash}`;
    case 'fish':
      return [
        `function __complete_${program}`,
        '    set -lx COMP_LINE (commandline -cp)',
        '    test -z (commandline -ct); and set COMP_LINE "$COMP_LINE "',
        `    ${command}`,
        'end',
        `complete -c ${program} -f -a "(__complete_${program})"`,
      ].join('\n');
  }
}

/** Returns how a shell starts the running program, because a script alone may not be executable. */
export function startCommand(called: string, node: string): string {
  return called.endsWith('.js') ? `${shellWord(node)} ${shellWord(called)}` : shellWord(called);
}
