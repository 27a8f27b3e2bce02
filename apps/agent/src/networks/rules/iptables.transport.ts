import { programOfMachine, type ProgramEnd, type RunProgram, whyItFailed } from '../program.transport.js';

/** How long another program's change of the rules is waited for, in seconds. */
const LOCK_WAIT_S = '10';
const TIMEOUT_MS = 30_000;

export type Family = 'iptables' | 'ip6tables';

/** The rules of this machine cannot be changed (NW-87). */
export class IptablesError extends Error {
  override readonly name = 'IptablesError';
}

/** The machine's rules of traffic, by the programs that every Linux has for it. Stateless. Cost of a call: one process. */
export class Iptables {
  constructor(
    private readonly run: RunProgram,
    private readonly find = programOfMachine,
  ) {}

  has(family: Family): boolean {
    return this.find(family) !== undefined;
  }

  /** Whether the program said yes: for questions such as `-C`, and for what may be there or gone already. */
  async succeeds(family: Family, ...args: string[]): Promise<boolean> {
    return (await this.call(family, args)).code === 0;
  }

  /** @returns what it printed @throws IptablesError that names the command */
  async tell(family: Family, ...args: string[]): Promise<string> {
    const end = await this.call(family, args);
    if (end.code !== 0) throw new IptablesError(`${family} ${args.join(' ')} failed: ${whyItFailed(end)}`);
    return end.stdout;
  }

  private call(family: Family, args: readonly string[]): Promise<ProgramEnd> {
    const file = this.find(family);
    if (file === undefined) throw new IptablesError(`the program ${family} is missing on this machine`);
    return this.run({ file, args: ['--wait', LOCK_WAIT_S, ...args], timeoutMs: TIMEOUT_MS });
  }
}
