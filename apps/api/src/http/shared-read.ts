/**
 * One read for all who want its result at the same time. What a read that is under way looks at may be older than what
 * somebody who comes meanwhile may rely on, so they share the next one. At most one read runs at a time.
 */
export class SharedRead<Value> {
  private running: Promise<Value> | undefined;
  private next: Promise<Value> | undefined;

  constructor(private readonly read: () => Promise<Value>) {}

  /** The result of a read that begins after this call. @throws what the read throws */
  fresh(): Promise<Value> {
    if (!this.running) return this.begin();
    return (this.next ??= this.afterRunning(this.running));
  }

  private async afterRunning(running: Promise<Value>): Promise<Value> {
    await running.catch(() => {});
    this.next = undefined;
    return this.begin();
  }

  private begin(): Promise<Value> {
    const reading = this.read().finally(() => {
      if (this.running === reading) this.running = undefined;
    });
    this.running = reading;
    return reading;
  }
}
