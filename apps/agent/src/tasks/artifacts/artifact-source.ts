import path from 'node:path';

/** Forms that are unpacked, by the end of a name. */
const ARCHIVES = ['tar.gz', 'tgz', 'tar', 'zip'] as const;
export type ArchiveForm = (typeof ARCHIVES)[number];
const isArchive = (text: string): text is ArchiveForm => (ARCHIVES as readonly string[]).includes(text);

/** Archives of other forms would come out as one file, and the job would not find what it expects. */
const UNKNOWN_ARCHIVES = ['tar.bz2', 'tbz2', 'tar.xz', 'txz', 'tar.zst', 'bz2', 'xz', 'gz', 'zst'];

/** Parameters that are meant for the getter, not for the server that is asked. */
const OWN = ['archive', 'checksum', 'ref', 'depth', 'filename'] as const;

/** Where an artifact comes from, read from a job's `source` and `options`. */
export interface ArtifactSource {
  readonly getter: 'http' | 'file' | 'git';
  /** What is left for the getter to ask; of a file its path. */
  readonly location: string;
  /** Only this directory of what comes. */
  readonly subdirectory: string;
  /** Undefined: the file itself is what is wanted. */
  readonly archive: ArchiveForm | undefined;
  readonly checksum: string | undefined;
  /** Branch, tag or commit. */
  readonly ref: string | undefined;
  readonly fileName: string;
}

/** The source names something that cannot be fetched. */
export class ArtifactSourceError extends Error {
  override readonly name = 'ArtifactSourceError';
}

/**
 * `[getter::]url[//subdirectory][?option=value…]`; options given apart win over those in the URL.
 * @throws ArtifactSourceError
 */
export function parseArtifactSource(source: string, options: Readonly<Record<string, string>>): ArtifactSource {
  const [, forced, rest = ''] = /^(?:([a-z0-9]+)::)?(.*)$/s.exec(source) ?? [];
  const url = urlOf(rest);
  const getter = getterOf(forced, url);
  const given: Record<string, string> = {};
  for (const name of OWN) {
    const value = options[name] ?? url.searchParams.get(name);
    if (value !== null) given[name] = value;
    url.searchParams.delete(name);
  }
  for (const [name, value] of Object.entries(options)) if (!(name in given)) url.searchParams.set(name, value);
  const [base, subdirectory] = splitOnce(url.pathname, '//');
  url.pathname = base;
  const fileName = given['filename'] ?? path.posix.basename(decodeURIComponent(base));
  return {
    getter,
    location: getter === 'file' ? decodeURIComponent(base) : url.href,
    subdirectory: decodeURIComponent(subdirectory),
    archive: getter === 'git' ? undefined : archiveOf(given['archive'], fileName),
    checksum: given['checksum'],
    ref: given['ref'],
    fileName,
  };
}

function urlOf(text: string): URL {
  try {
    return new URL(path.isAbsolute(text) ? `file://${text}` : text);
  } catch {
    throw new ArtifactSourceError('the source is no URL: http, https, git:: and file are known');
  }
}

function getterOf(forced: string | undefined, url: URL): ArtifactSource['getter'] {
  const scheme = forced ?? url.protocol.slice(0, -1);
  if (scheme === 'git') return 'git';
  if (scheme === 'http' || scheme === 'https') return 'http';
  if (scheme === 'file') return 'file';
  throw new ArtifactSourceError(`download not supported for scheme "${scheme}"`);
}

/** `archive=false` keeps an archive as the file it is. */
function archiveOf(wanted: string | undefined, fileName: string): ArchiveForm | undefined {
  if (wanted === 'false' || wanted === '0') return undefined;
  if (wanted !== undefined && wanted !== 'true' && wanted !== '1') {
    if (isArchive(wanted)) return wanted;
    throw new ArtifactSourceError(`archives of the form "${wanted}" cannot be unpacked: ${ARCHIVES.join(', ')} can`);
  }
  const unknown = UNKNOWN_ARCHIVES.find((form) => fileName.endsWith(`.${form}`) && !fileName.endsWith('.tar.gz'));
  if (unknown)
    throw new ArtifactSourceError(
      `archives of the form "${unknown}" cannot be unpacked: ${ARCHIVES.join(', ')} can; archive=false keeps the file as it is`,
    );
  return ARCHIVES.find((form) => fileName.endsWith(`.${form}`));
}

function splitOnce(text: string, by: string): [string, string] {
  const at = text.indexOf(by);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + by.length)];
}
