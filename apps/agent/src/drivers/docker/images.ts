import { type CancelTimer, type Timers, errorText } from '@waybill/model';
import { unlessAborted } from '../../waiting/unless-aborted.js';
import { StartCancelledError, StartError } from '../driver.js';

/** The default time limit for pulling an image, in milliseconds (AG-283). */
export const PULL_TIMEOUT_MS = 5 * 60_000;
export const UNUSED_IMAGE_MS = 3 * 60_000;
/** The interval in milliseconds between two progress messages of a pull. */
export const PULL_NEWS_MS = 10_000;

export interface Credentials {
  readonly username: string;
  readonly password: string;
  readonly email: string;
  readonly serveraddress: string;
}

/** ImageSource is the part of an engine that deals with images. */
export interface ImageSource {
  /** Returns the image's id and whether it came from a registry, or undefined if the engine does not have the image. */
  find(image: string): Promise<{ readonly id: string; readonly isFromRegistry: boolean } | undefined>;
  /** Pulls the image from its registry. @throws PullError */
  pull(
    image: string,
    credentials: Credentials | undefined,
    progress: (news: string) => void,
    signal: AbortSignal,
  ): Promise<void>;
  /** Removes an image. An image that is in use, or is not there, stays as it is. */
  remove(id: string): Promise<void>;
}

/** PullError says that a pull failed. */
export class PullError extends Error {
  override readonly name = 'PullError';
  constructor(
    message: string,
    /** Whether the registry was unreachable or had an error, so that another attempt may succeed. */
    readonly isTransient: boolean,
  ) {
    super(message);
  }
}

export interface ImageWish {
  readonly image: string;
  /** Whether to ask the registry even if the engine has the image. */
  readonly force: boolean;
  readonly credentials: Credentials | undefined;
  readonly timeoutMs: number;
  /** Aborts when the task that waits for the image has to stop. Absent if nobody stops it. */
  readonly unwanted?: AbortSignal;
  /** Loads the image into the engine, in place of a pull. Absent if the job names no archive. @throws StartError */
  readonly load?: () => Promise<void>;
}

interface Pull {
  readonly done: Promise<void>;
  readonly listeners: Set<(news: string) => void>;
  /** Ends the pull. */
  readonly abort: () => void;
}

/**
 * Images manages the images that tasks of this machine use (AG-283).
 *
 * States of an image: absent → being pulled (once for any number of waiting tasks, and until the last of them has to
 * stop) → used → unused → removed after
 * UNUSED_IMAGE_MS, unless a task uses it again. Only images from a registry are removed, because an image that was
 * built or loaded on the machine could not be restored. Memory: one entry per used image, one timer per unused image.
 */
export class Images {
  private readonly pulls = new Map<string, Pull>();
  /** Tasks by the id of the image that they use. */
  private readonly users = new Map<string, Set<string>>();
  private readonly removals = new Map<string, CancelTimer>();

  constructor(
    private readonly source: ImageSource,
    private readonly timers: Timers,
    /** Whether unused images are removed. */
    private readonly removesUnused: boolean,
  ) {}

  /** Provides the image and marks it as used by the task. @returns the image's id. @throws StartError, StartCancelledError */
  async provideImage(taskId: string, wish: ImageWish, tell: (message: string) => void): Promise<string> {
    const { image, force } = wish;
    if (wish.load) return this.loadImage(taskId, wish.load, image);
    let found = force ? undefined : await this.source.find(image);
    if (!found) {
      await this.awaitPull(wish, tell);
      found = await this.source.find(image);
    }
    if (!found) throw new StartError(`the engine has no image "${image}", although it was pulled`);
    this.markUsed(taskId, found.id);
    return found.id;
  }

  private async loadImage(taskId: string, load: () => Promise<void>, image: string): Promise<string> {
    await load();
    const found = await this.source.find(image);
    if (!found) throw new StartError(`the loaded archive has no image "${image}"`);
    this.markUsed(taskId, found.id);
    return found.id;
  }

  /** Marks an image as used by a task that runs already, for instance since before the agent's start. */
  markUsed(taskId: string, imageId: string): void {
    const users = this.users.get(imageId) ?? new Set();
    this.users.set(imageId, users.add(taskId));
    this.removals.get(imageId)?.();
    this.removals.delete(imageId);
  }

  /** Ends a task's use of its image. */
  releaseImage(taskId: string): void {
    for (const [imageId, users] of this.users) {
      if (!users.delete(taskId) || users.size > 0) continue;
      this.users.delete(imageId);
      if (this.removesUnused) this.removals.set(imageId, this.removeLater(imageId));
    }
  }

  private removeLater(imageId: string): CancelTimer {
    return this.timers.after(UNUSED_IMAGE_MS, () => void this.removeUnused(imageId));
  }

  /**
   * Removes an unused image. If the engine does not answer, it tries again after UNUSED_IMAGE_MS, because the engine
   * may have been stopped together with its last task.
   */
  private async removeUnused(imageId: string): Promise<void> {
    this.removals.delete(imageId);
    try {
      const found = await this.source.find(imageId);
      if (found?.isFromRegistry && !this.users.has(imageId)) await this.source.remove(imageId);
    } catch {
      if (!this.users.has(imageId)) this.removals.set(imageId, this.removeLater(imageId));
    }
  }

  private async awaitPull(wish: ImageWish, tell: (message: string) => void): Promise<void> {
    const { image, credentials, unwanted } = wish;
    const key = JSON.stringify([image, credentials]);
    const pull = this.pulls.get(key) ?? this.startPull(wish);
    const removePull = (): void => {
      if (this.pulls.get(key) === pull) this.pulls.delete(key);
    };
    if (!this.pulls.has(key)) {
      this.pulls.set(key, pull);
      pull.done.then(removePull, removePull);
    }
    tell('Downloading image');
    const listener = (news: string): void => tell(news);
    pull.listeners.add(listener);
    try {
      await unlessAborted(pull.done, unwanted, () => new GivenUpError('given up'));
    } catch (error) {
      if (error instanceof GivenUpError) {
        pull.listeners.delete(listener);
        if (pull.listeners.size === 0) {
          removePull(); // a task that wants the image from now on begins a pull of its own
          pull.abort();
        }
        throw new StartCancelledError();
      }
      const text = errorText(error);
      const isTransient = error instanceof PullError && error.isTransient;
      throw new StartError(`failed to pull "${image}": ${text}`, isTransient);
    } finally {
      pull.listeners.delete(listener);
    }
  }

  private startPull({ image, credentials, timeoutMs }: ImageWish): Pull {
    const listeners = new Set<(news: string) => void>();
    const limit = new AbortController();
    let news = '';
    const reportProgress = (): void => {
      if (news !== '') for (const tell of listeners) tell(`Docker image pull progress: ${news}`);
      cancelNews = this.timers.after(PULL_NEWS_MS, reportProgress);
    };
    let cancelNews = this.timers.after(PULL_NEWS_MS, reportProgress);
    const cancelLimit = this.timers.after(timeoutMs, () => limit.abort());
    const pullOnce = async (): Promise<void> => {
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
    return { done: pullOnce(), listeners, abort: () => limit.abort() };
  }
}

/** GivenUpError says that nobody waits for a result any more. */
class GivenUpError extends Error {
  override readonly name = 'GivenUpError';
}
