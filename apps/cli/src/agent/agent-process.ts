import type { Environment } from '../server/environment.js';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { AgentStart } from './agent-start.js';
import { CommandFailure } from '../failure.js';

/**
 * A part of the system as a process below this one. running → asked to stop (SIGINT or SIGTERM of ours, or `stop`) →
 * ended. Its own complaints go to our stderr; one more signal while it stops kills it.
 */
export class AgentProcess {
  /** Resolves with its exit code: 0 after an orderly stop, 1 when it failed or was killed. */
  readonly ended: Promise<number>;
  private stopping = false;

  private constructor(private readonly child: ChildProcess) {
    this.ended = once(child, 'exit').then(([code]: (number | null)[]) => code ?? 1);
  }

  /** @throws CommandFailure when the program is not there */
  static start({ app, arguments: words, env: own }: AgentStart, env: Environment): AgentProcess {
    const program = programOf(app);
    // A group of its own: Ctrl-C of the terminal reaches it through us, once.
    const child = spawn(process.execPath, ['--enable-source-maps', '--max-semi-space-size=32', program, ...words], {
      env: { ...env, ...own },
      stdio: ['ignore', app === 'agent' ? 'pipe' : 'ignore', 'inherit'],
      detached: true,
    });
    return new AgentProcess(child);
  }

  /** What it writes to its log; null: it has an API for that. */
  get log(): AsyncIterable<Uint8Array> | null {
    return this.child.stdout;
  }

  get isStopping(): boolean {
    return this.stopping;
  }

  stop(): void {
    this.child.kill(this.stopping ? 'SIGKILL' : 'SIGTERM');
    this.stopping = true;
  }
}

/** Found as a package, so that it does not matter in which file this module ends up. @throws CommandFailure */
export function programOf(app: AgentStart['app'], file = 'main.js'): string {
  try {
    const program = fileURLToPath(new URL(file, import.meta.resolve(`@waybill/${app}`)));
    if (existsSync(program)) return program;
  } catch {
    // Said below: an installation may be without it.
  }
  throw new CommandFailure(`The program is not here, or not built: apps/${app}`);
}
