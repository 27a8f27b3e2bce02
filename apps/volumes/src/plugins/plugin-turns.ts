import { Turns, NotHolderError } from '@waybill/model';

/**
 * Makes changing calls one at a time for each plugin (VL-129).
 *
 * Modes: open → closed at the end of the term. `close` lets calls in progress end, and fails the waiting ones at once,
 * because another holder decides now (VL-131). Memory: the waiting calls.
 */
export class PluginTurns {
  private readonly turns = new Turns();
  private readonly waiting = new Set<() => void>();
  private closed = false;

  /** Makes the call when its turn comes. @throws NotHolderError if closed before that, and any error of `call` */
  runInTurn<T>(pluginId: string, call: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const giveUp = (): void => reject(new NotHolderError());
      if (this.closed) return giveUp();
      this.waiting.add(giveUp);
      const work = async (): Promise<T> => {
        this.waiting.delete(giveUp);
        if (this.closed) throw new NotHolderError();
        return await call();
      };
      this.turns.runInTurn(pluginId, work).then(resolve, reject);
    });
  }

  close(): void {
    this.closed = true;
    for (const giveUp of this.waiting) giveUp();
    this.waiting.clear();
  }
}
