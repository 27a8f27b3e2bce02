import { Turns, NotHolderError } from '@waybill/model';

/**
 * One changing call at a time for each plugin (VL-129). Modes: open → closed at the end of the term. Closing lets calls
 * on their way to a plugin end, and tells those that wait at once that somebody else decides now (VL-131).
 * Memory: the calls that wait.
 */
export class PluginTurns {
  private readonly turns = new Turns();
  private readonly waiting = new Set<() => void>();
  private closed = false;

  /** @throws NotHolderError closed before its turn came; what `call` throws */
  take<T>(pluginId: string, call: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const giveUp = (): void => reject(new NotHolderError());
      if (this.closed) return giveUp();
      this.waiting.add(giveUp);
      const work = async (): Promise<T> => {
        this.waiting.delete(giveUp);
        if (this.closed) throw new NotHolderError();
        return await call();
      };
      this.turns.take(pluginId, work).then(resolve, reject);
    });
  }

  close(): void {
    this.closed = true;
    for (const giveUp of this.waiting) giveUp();
    this.waiting.clear();
  }
}
