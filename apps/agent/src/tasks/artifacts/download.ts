import { errorText } from '@waybill/model';
import { createReadStream, createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ArtifactLimitError, type ArtifactLimits } from './artifact-limits.js';
import type { ArtifactSource } from './artifact-source.js';
import { Checksum } from './checksum.js';

/** DownloadError says that the artifact cannot be fetched from its source. */
export class DownloadError extends Error {
  override readonly name = 'DownloadError';
}

export interface Download {
  readonly source: ArtifactSource;
  /** The headers of a request over HTTP. */
  readonly headers: Readonly<Record<string, string>>;
  /** Path of the new file. */
  readonly target: string;
}

/**
 * Fetches one file over HTTP or from this machine, writes it to the target and verifies its checksum meanwhile.
 * @throws DownloadError, ChecksumError, ArtifactLimitError, or an error of the connection or the disk
 */
export async function download(
  { source, headers, target }: Download,
  limits: ArtifactLimits,
  signal: AbortSignal,
): Promise<void> {
  const checksum = source.checksum === undefined ? undefined : new Checksum(source.checksum);
  const bytes =
    source.getter === 'file' ? await openFile(source.location) : await requestSource(source, headers, signal);
  let taken = 0;
  const measured = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      taken += chunk.length;
      checksum?.update(chunk);
      if (taken > limits.bytes) done(new ArtifactLimitError(`the artifact has more than ${limits.bytes} bytes`));
      else done(null, chunk);
    },
  });
  await pipeline(bytes, measured, createWriteStream(target), { signal });
  checksum?.verify();
}

async function openFile(location: string): Promise<Readable> {
  const found = await stat(location);
  if (!found.isFile()) throw new DownloadError(`${location} is no regular file`);
  return createReadStream(location);
}

async function requestSource(
  { location }: ArtifactSource,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Readable> {
  const url = new URL(location);
  const { username, password } = url;
  [url.username, url.password] = ['', '']; // credentials go into a header, because `fetch` refuses them in a URL
  const credentials = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64');
  const sent = new Headers(username === '' ? {} : [['Authorization', `Basic ${credentials}`]]);
  for (const [name, value] of Object.entries(headers)) sent.set(name, value);
  let answer: Response;
  try {
    answer = await fetch(url, { headers: sent, signal, redirect: 'follow' });
  } catch (error) {
    // The error's own message is only `fetch failed`. Its cause says why.
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    throw new DownloadError(errorText(cause), { cause: error });
  }
  if (!answer.ok || !answer.body) {
    await answer.body?.cancel();
    throw new DownloadError(`bad response code: ${answer.status}`);
  }
  return Readable.fromWeb(answer.body);
}
