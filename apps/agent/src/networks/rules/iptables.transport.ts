import { programOfMachine, type ProgramEnd, type RunProgram, failureText } from '../program.transport.js';

/** The longest wait in seconds for another program's change of the rules. */
const LOCK_WAIT_S = '10';
const TIMEOUT_MS = 30_000;

export type Family = 'iptables' | 'ip6tables';

/** IptablesError says that the rules of this machine cannot be changed (NW-87). */
export class IptablesError extends Error {
  override readonly name = 'IptablesError';
}

/**
 * Iptables changes the machine's traffic rules through the standard programs of Linux. Stateless. Cost of a call: one
 * process.
 */
export class Iptables {
  constructor(
    private readonly run: RunProgram,
    private readonly find = programOfMachine,
  ) {}

  hasProgram(family: Family): boolean {
    return this.find(family) !== undefined;
  }

  /**
   * Says whether the program succeeded. It is for checks such as `-C`, and for objects that may exist or be gone
   * already.
   */
  async succeeds(family: Family, ...args: string[]): Promise<boolean> {
    return (await this.call(family, args)).code === 0;
  }

  /** Runs a command. @returns its output @throws IptablesError that names the command */
  async runCommand(family: Family, ...args: string[]): Promise<string> {
    const end = await this.call(family, args);
    if (end.code !== 0) throw new IptablesError(`${family} ${args.join(' ')} failed: ${failureText(end)}`);
    return end.stdout;
  }

  private call(family: Family, args: readonly string[]): Promise<ProgramEnd> {
    const file = this.find(family);
    if (file === undefined) throw new IptablesError(`the program ${family} is missing on this machine`);
    return this.run({ file, args: ['--wait', LOCK_WAIT_S, ...args], timeoutMs: TIMEOUT_MS });
  }
}
