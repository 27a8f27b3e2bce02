import { errorText } from '@waybill/model';
import type { ServiceState } from '@waybill/service';
import pc from 'picocolors';

/** The time after which a step reports that it takes long. */
const SLOW_MS = 1_000;
const NAME_WIDTH = 12;

/** Report shows a run to a person: one line per part, and a line about a step that takes long. */
export class Report {
  /** @param patient false announces steps at once, as on a first start, where each step takes a while */
  constructor(private readonly patient: boolean) {}

  readonly say = (line: string): void => void process.stdout.write(`${line}\n`);

  readonly warn = (line: string): void => this.say(`  ${pc.yellow('note ')}  ${line}`);

  state({ name, ready, detail }: ServiceState): void {
    this.say(`  ${ready ? pc.green('ready') : pc.red('down ')}  ${name.padEnd(NAME_WIDTH)}${detail}`);
  }

  /** Announces a step if it takes long. */
  async during<T>(name: string, what: string, work: Promise<T>): Promise<T> {
    const tell = (): void => this.say(`  ${pc.dim('wait ')}  ${name.padEnd(NAME_WIDTH)}${what} …`);
    const timer = setTimeout(tell, this.patient ? SLOW_MS : 0);
    try {
      return await work;
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Writes one line to standard error. */
export function complain(error: unknown): void {
  process.stderr.write(`${pc.red('waybill:')} ${errorText(error)}\n`);
}
