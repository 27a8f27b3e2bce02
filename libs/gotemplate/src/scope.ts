/** The variables of one template under execution, innermost last. The parser has seen to it that each is declared. */
export class Scope {
  private readonly variables: { readonly name: string; value: unknown }[];

  /** @param root what `$` means */
  constructor(root: unknown) {
    this.variables = [{ name: '$', value: root }];
  }

  declare(name: string, value: unknown): void {
    this.variables.push({ name, value });
  }

  assign(name: string, value: unknown): void {
    const variable = this.find(name);
    if (variable) variable.value = value;
  }

  value(name: string): unknown {
    return this.find(name)?.value;
  }

  /** What `run` declares is gone after it, however it ends. */
  within(run: () => void): void {
    const mark = this.variables.length;
    try {
      run();
    } finally {
      this.variables.length = mark;
    }
  }

  private find(name: string): { value: unknown } | undefined {
    return this.variables.findLast((variable) => variable.name === name);
  }
}
