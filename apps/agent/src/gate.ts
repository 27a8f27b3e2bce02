/** Something that is waited for and happens once: closed → open. Waiting costs nothing; opening twice does nothing. */
export class Gate {
  readonly opened: Promise<void>;
  isOpen = false;
  private resolve: () => void = () => {};

  constructor() {
    this.opened = new Promise((resolve) => {
      this.resolve = resolve;
    });
  }

  open(): void {
    this.isOpen = true;
    this.resolve();
  }
}
