/**
 * One write at a time for each deployment: the next one is decided on the state that the one before has left, so that an
 * operator's pause and a deadline that fires in the same moment cannot both go by what was before (DP-903). Other
 * writers (plans, agents) are judged when applied. Memory: the deployments being written.
 */
export class WriteTurns {
  private readonly last = new Map<string, Promise<unknown>>();

  /** Deployments with a write in progress. */
  get size(): number {
    return this.last.size;
  }

  /** Runs `work` when the earlier ones of this deployment have ended, at once if there are none. */
  async take<T>(deploymentId: string, work: () => Promise<T>): Promise<T> {
    const before = this.last.get(deploymentId);
    const mine = before ? before.then(work, work) : work();
    this.last.set(deploymentId, mine);
    try {
      return await mine;
    } finally {
      if (this.last.get(deploymentId) === mine) this.last.delete(deploymentId);
    }
  }
}
