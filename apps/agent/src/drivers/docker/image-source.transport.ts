import type { Readable } from 'node:stream';
import type Docker from 'dockerode';
import { isMissing, reasonOf, statusOf } from './engine.transport.js';
import { type Credentials, type ImageSource, PullError } from './images.js';

/** PullNews is one progress message of a pull. */
interface PullNews {
  readonly id?: string;
  readonly status?: string;
  readonly error?: string;
  readonly progressDetail?: { readonly current?: number; readonly total?: number };
}

/** Answers of a registry that another attempt would not change. */
const FINAL = /not found|manifest unknown|unauthorized|denied|no basic auth|invalid reference|unsupported/i;
/** The status for an image that cannot be removed, because a container uses it or it has other names. */
const CONFLICT = 409;
const DEFAULT_TAG = ':latest';

/** Returns the images of an engine. */
export function imagesOf(engine: () => Promise<Docker>): ImageSource {
  return {
    find: async (image) => {
      try {
        const { Id, RepoDigests } = await (await engine()).getImage(image).inspect();
        return { id: Id, isFromRegistry: (RepoDigests ?? []).length > 0 };
      } catch (error) {
        if (isMissing(error)) return undefined;
        throw error;
      }
    },
    pull: async (image, credentials, progress, signal) =>
      pullImage(await engine(), { image: withTag(image), credentials }, progress, signal),
    remove: async (id) => {
      try {
        await (await engine()).getImage(id).remove();
      } catch (error) {
        if (!isMissing(error) && statusOf(error) !== CONFLICT) throw error;
      }
    },
  };
}

/** Loads the images of an archive into the engine. @throws Error with the engine's message */
export async function loadInto(engine: Docker, archive: Readable): Promise<void> {
  const stream = await engine.loadImage(archive);
  await new Promise<void>((resolve, reject) => {
    engine.modem.followProgress(stream, (error: Error | null, all: readonly PullNews[] | null) => {
      const failed = all?.find((one) => one.error !== undefined)?.error;
      if (error ?? failed !== undefined) reject(error ?? new Error(failed));
      else resolve();
    });
  });
}

interface WantedImage {
  /** The name with its tag or digest. */
  readonly image: string;
  readonly credentials: Credentials | undefined;
}

async function pullImage(
  engine: Docker,
  { image, credentials }: WantedImage,
  progress: (news: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const layers = new Map<string, PullNews>();
  try {
    const options = { abortSignal: signal, ...(credentials && { authconfig: credentials }) };
    const stream = await engine.pull(image, options);
    await new Promise<void>((resolve, reject) => {
      const done = (error: Error | null, all: readonly PullNews[]): void => {
        const failed = all.find((one) => one.error !== undefined)?.error;
        if (error ?? failed !== undefined) reject(error ?? new Error(failed));
        else resolve();
      };
      engine.modem.followProgress(stream, done, (news: PullNews) => {
        if (news.id !== undefined) layers.set(news.id, news);
        progress(progressSummary(layers));
      });
    });
  } catch (error) {
    const reason = reasonOf(error);
    throw new PullError(reason, !FINAL.test(reason));
  }
}

/** Adds the default tag. Without a tag the engine would pull all tags of the image. */
function withTag(image: string): string {
  const name = image.slice(image.lastIndexOf('/') + 1);
  return name.includes(':') || name.includes('@') ? image : image + DEFAULT_TAG;
}

function progressSummary(layers: ReadonlyMap<string, PullNews>): string {
  const all = [...layers.values()];
  const done = all.filter(({ status }) => status === 'Pull complete' || status === 'Already exists').length;
  const bytes = all.reduce((sum, { progressDetail }) => sum + (progressDetail?.current ?? 0), 0);
  return `${done}/${all.length} layers, ${Math.round(bytes / 1024 / 1024)} MiB under way`;
}
