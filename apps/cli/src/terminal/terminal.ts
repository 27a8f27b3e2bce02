import picocolors from 'picocolors';

/** A destination for text, such as stdout and stderr. */
export interface TextSink {
  write(text: string | Uint8Array): boolean;
  once(event: 'drain', listener: () => void): unknown;
}

export interface TerminalOptions {
  readonly colour: boolean;
  /** Whether stdout is a terminal whose cursor may be moved (CL-134). */
  readonly interactive: boolean;
}

export type Colour = 'blue' | 'cyan' | 'gray' | 'green' | 'red' | 'yellow' | 'yellowBright';

type Colours = ReturnType<typeof picocolors.createColors>;

/** Output of a command. Results go to stdout, everything else to stderr (CL-131). */
export class Terminal {
  private readonly colours: Colours;

  constructor(
    private readonly stdout: TextSink,
    private readonly stderr: TextSink,
    readonly options: TerminalOptions,
  ) {
    this.colours = picocolors.createColors(options.colour);
  }

  /** Prints lines of a result. */
  print(text: string): void {
    this.stdout.write(`${text}\n`);
  }

  /** Prints a title after an empty line, in bold if colours are enabled (CL-133, CL-135). */
  section(title: string): void {
    this.print(`\n${this.bold(title)}`);
  }

  note(text: string): void {
    this.stderr.write(`${text}\n`);
  }

  warn(text: string): void {
    this.note(this.colours.yellow(text));
  }

  error(text: string): void {
    this.note(this.colours.red(text));
  }

  /** Writes bytes unchanged. Resolves when there is room for more (CL-1009). */
  async bytes(data: string | Uint8Array, to: 'stdout' | 'stderr' = 'stdout'): Promise<void> {
    const sink = to === 'stdout' ? this.stdout : this.stderr;
    if (!sink.write(data)) await new Promise<void>((resolve) => sink.once('drain', resolve));
  }

  bold(text: string): string {
    return this.colours.bold(text);
  }

  coloured(colour: Colour, text: string): string {
    return this.colours[colour](text);
  }

  red(text: string): string {
    return this.coloured('red', text);
  }

  boldYellow(text: string): string {
    return this.colours.bold(this.colours.yellow(text));
  }
}
