import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { eventually } from './wait.js';

/** `script` of util-linux gives a program a terminal; other systems have another program of that name. */
export const hasPseudoTerminal = /util-linux/.test(String(spawnSync('script', ['--version']).stdout));

const CTRL_C = '\u0003';

/** A program on a terminal of its own, with somebody at the keyboard. */
export class PseudoTerminal {
  /** Everything that was written, as it was. */
  raw = '';
  private readonly ended: Promise<unknown[]>;

  private constructor(private readonly child: ChildProcess) {
    child.stdout?.on('data', (data: Buffer) => (this.raw += data.toString()));
    this.ended = once(child, 'close');
  }

  /** @param words the program and its arguments, none with a single quote */
  static start(words: readonly string[], env: NodeJS.ProcessEnv): PseudoTerminal {
    // In the place of the shell, which would take Ctrl-C for itself too.
    const line = `exec ${words.map((word) => `'${word}'`).join(' ')}`;
    const child = spawn('script', ['--quiet', '--return', '--flush', '--command', line, '/dev/null'], {
      env: { PATH: process.env['PATH'], TERM: 'xterm', ...env },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    return new PseudoTerminal(child);
  }

  /** Everything on the screen, without colours and cursor movements. */
  get screen(): string {
    return plain(this.raw);
  }

  /** Waits until the screen shows it, at this place or behind it. @returns the place behind it */
  async shows(text: string, from = 0): Promise<number> {
    const at = await eventually(
      `the terminal shows "${text}"`,
      () => {
        const found = this.screen.indexOf(text, from);
        return found === -1 ? undefined : { behind: found + text.length };
      },
      30_000,
    ).catch((error: unknown) => {
      throw new Error(`${String(error)}\nthe screen:\n${this.screen}`);
    });
    return at.behind;
  }

  enter(text: string): void {
    this.child.stdin?.write(`${text}\r`);
  }

  ctrlC(): void {
    this.child.stdin?.write(CTRL_C);
  }

  /** Resolves with the program's exit code. */
  async exit(): Promise<unknown> {
    const [code] = await this.ended;
    return code;
  }
}

// eslint-disable-next-line no-control-regex
const plain = (text: string): string => text.replaceAll(/\u001b\[[\d;?]*[A-Za-z]/g, '').replaceAll('\r', '');
