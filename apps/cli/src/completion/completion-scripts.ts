import { quoted, shellWord } from '../terminal/shell-word.js';

/** Shells that can be made to ask this program what may come next. */
export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/**
 * What a shell has to be told once (CL-175).
 * @param program the word that people type
 * @param command how to start the program, words quoted where needed
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

/** How a shell starts the program that is running: a script is not always executable by itself. */
export function startCommand(called: string, node: string): string {
  return called.endsWith('.js') ? `${shellWord(node)} ${shellWord(called)}` : shellWord(called);
}
