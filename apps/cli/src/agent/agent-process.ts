import type { Environment } from '../server/environment.js';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { AgentStart } from './agent-start.js';
import { CommandFailure } from '../failure.js';

/**
 * A part of the system as a child process. running → stopping (a SIGINT or SIGTERM to this process, or `stop`) → ended.
 * Its stderr goes to this process's stderr. Another signal while it stops kills it.
 */
export class AgentProcess {
  /** Resolves with its exit code: 0 after an orderly stop, 1 if it failed or was killed. */
  readonly ended: Promise<number>;
  private stopping = false;

  private constructor(private readonly child: ChildProcess) {
    this.ended = once(child, 'exit').then(([code]: (number | null)[]) => code ?? 1);
  }

  /** @throws CommandFailure if the program does not exist */
  static start({ app, arguments: words, env: own }: AgentStart, env: Environment): AgentProcess {
    const program = programOf(app);
    // The child has a process group of its own, so a Ctrl-C of the terminal reaches it once, through this process.
    const child = spawn(process.execPath, ['--enable-source-maps', '--max-semi-space-size=32', program, ...words], {
      env: { ...env, ...own },
      stdio: ['ignore', app === 'agent' ? 'pipe' : 'ignore', 'inherit'],
      detached: true,
    });
    return new AgentProcess(child);
  }

  /** Its log output. Null if its log is available over its API. */
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

/**
 * Returns the path of an app's program. It is resolved as a package, so this module may be in any file. @throws
 * CommandFailure
 */
export function programOf(app: AgentStart['app'], file = 'main.js'): string {
  try {
    const program = fileURLToPath(new URL(file, import.meta.resolve(`@waybill/${app}`)));
    if (existsSync(program)) return program;
  } catch {
    // The error below names the app, which an installation may lack.
  }
  throw new CommandFailure(`The program is not here, or not built: apps/${app}`);
}
