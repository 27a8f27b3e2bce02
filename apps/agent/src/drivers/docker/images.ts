import { type CancelTimer, type Timers, errorText } from '@waybill/model';
import { StartError } from '../driver.js';

/** The engine has this time to pull an image (AG-283). */
export const PULL_TIMEOUT_MS = 5 * 60_000;
export const UNUSED_IMAGE_MS = 3 * 60_000;
/** How often people are told how far a pull is. */
export const PULL_NEWS_MS = 10_000;

export interface Credentials {
  readonly username: string;
  readonly password: string;
  readonly email: string;
  readonly serveraddress: string;
}

/** What an engine is asked about images. */
export interface ImageSource {
  /** Its id, and whether a registry has it; undefined: the engine does not. */
  find(image: string): Promise<{ readonly id: string; readonly isFromRegistry: boolean } | undefined>;
  /** Brings it from its registry. @throws PullError */
  pull(
    image: string,
    credentials: Credentials | undefined,
    progress: (news: string) => void,
    signal: AbortSignal,
  ): Promise<void>;
  /** One that is in use, or is not there, stays as it is. */
  remove(id: string): Promise<void>;
}

/** A pull failed. */
export class PullError extends Error {
  override readonly name = 'PullError';
  constructor(
    message: string,
    /** The registry was not reached, or not well: it may be another time. */
    readonly isTransient: boolean,
  ) {
    super(message);
  }
}

export interface ImageWish {
  readonly image: string;
  /** Ask the registry even if the engine has it. */
  readonly force: boolean;
  readonly credentials: Credentials | undefined;
  readonly timeoutMs: number;
}

interface Pull {
  readonly done: Promise<void>;
  readonly listeners: Set<(news: string) => void>;
}

/**
 * The images that tasks of this machine use (AG-283).
 *
 * An image is: absent → being pulled (once, however many tasks wait for it) → used → unused → removed after
 * UNUSED_IMAGE_MS, unless it is used again. Only what a registry has is removed: what was built or loaded on the machine
 * would be gone for good. Memory: one entry for each image in use, one timer for each that no task uses any more.
 */
export class Images {
  private readonly pulls = new Map<string, Pull>();
  /** Tasks by the id of the image that they use. */
  private readonly users = new Map<string, Set<string>>();
  private readonly removals = new Map<string, CancelTimer>();

  constructor(
    private readonly source: ImageSource,
    private readonly timers: Timers,
    /** False: images stay. */
    private readonly removesUnused: boolean,
  ) {}

  /** Has the image there, and in use by the task. @returns its id. @throws StartError */
  async use(taskId: string, wish: ImageWish, tell: (message: string) => void): Promise<string> {
    const { image, force } = wish;
    let found = force ? undefined : await this.source.find(image);
    if (!found) {
      await this.pulled(wish, tell);
      found = await this.source.find(image);
    }
    if (!found) throw new StartError(`the engine has no image "${image}", although it was pulled`);
    this.keep(taskId, found.id);
    return found.id;
  }

  /** A task that ran before the agent did uses it. */
  keep(taskId: string, imageId: string): void {
    const users = this.users.get(imageId) ?? new Set();
    this.users.set(imageId, users.add(taskId));
    this.removals.get(imageId)?.();
    this.removals.delete(imageId);
  }

  /** The task has ended. */
  release(taskId: string): void {
    for (const [imageId, users] of this.users) {
      if (!users.delete(taskId) || users.size > 0) continue;
      this.users.delete(imageId);
      if (this.removesUnused) this.removals.set(imageId, this.removeLater(imageId));
    }
  }

  private removeLater(imageId: string): CancelTimer {
    return this.timers.after(UNUSED_IMAGE_MS, () => void this.removeUnused(imageId));
  }

  /** An engine that does not answer is asked again as much later: it may have been stopped with its last task. */
  private async removeUnused(imageId: string): Promise<void> {
    this.removals.delete(imageId);
    try {
      const found = await this.source.find(imageId);
      if (found?.isFromRegistry && !this.users.has(imageId)) await this.source.remove(imageId);
    } catch {
      if (!this.users.has(imageId)) this.removals.set(imageId, this.removeLater(imageId));
    }
  }

  private async pulled(wish: ImageWish, tell: (message: string) => void): Promise<void> {
    const { image, credentials } = wish;
    const key = JSON.stringify([image, credentials]);
    let pull = this.pulls.get(key);
    if (!pull) {
      pull = this.begin(wish);
      this.pulls.set(key, pull);
      const forget = (): void => void this.pulls.delete(key);
      pull.done.then(forget, forget);
    }
    tell('Downloading image');
    pull.listeners.add(tell);
    try {
      await pull.done;
    } catch (error) {
      const text = errorText(error);
      const isTransient = error instanceof PullError && error.isTransient;
      throw new StartError(`failed to pull "${image}": ${text}`, isTransient);
    } finally {
      pull.listeners.delete(tell);
    }
  }

  private begin({ image, credentials, timeoutMs }: ImageWish): Pull {
    const listeners = new Set<(news: string) => void>();
    const limit = new AbortController();
    let news = '';
    const tellNews = (): void => {
      if (news !== '') for (const tell of listeners) tell(`Docker image pull progress: ${news}`);
      cancelNews = this.timers.after(PULL_NEWS_MS, tellNews);
    };
    let cancelNews = this.timers.after(PULL_NEWS_MS, tellNews);
    const cancelLimit = this.timers.after(timeoutMs, () => limit.abort());
    const pull = async (): Promise<void> => {
      try {
        await this.source.pull(image, credentials, (latest) => (news = latest), limit.signal);
      } catch (error) {
        if (limit.signal.aborted) throw new PullError(`not done after ${timeoutMs / 1_000} seconds`, true);
        throw error;
      } finally {
        cancelLimit();
        cancelNews();
      }
    };
    return { done: pull(), listeners };
  }
}
