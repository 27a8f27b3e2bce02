import path from 'node:path';

/** The archive formats that are unpacked, by file extension. */
const ARCHIVES = ['tar.gz', 'tgz', 'tar', 'zip'] as const;
export type ArchiveForm = (typeof ARCHIVES)[number];
const isArchive = (text: string): text is ArchiveForm => (ARCHIVES as readonly string[]).includes(text);

/**
 * Archives that cannot be unpacked. They would become one file, and the job would not find the contents that it
 * expects.
 */
const UNKNOWN_ARCHIVES = ['tar.bz2', 'tbz2', 'tar.xz', 'txz', 'tar.zst', 'bz2', 'xz', 'gz', 'zst'];

/** Parameters for the getter, not for the server. */
const OWN = ['archive', 'checksum', 'ref', 'depth', 'filename'] as const;

/** ArtifactSource is the origin of an artifact, parsed from a job's `source` and `options`. */
export interface ArtifactSource {
  readonly getter: 'http' | 'file' | 'git';
  /** The URL for the getter; for a file its path. */
  readonly location: string;
  /** The directory of the contents that is wanted; empty means all. */
  readonly subdirectory: string;
  /** The archive format; undefined if the file itself is wanted. */
  readonly archive: ArchiveForm | undefined;
  readonly checksum: string | undefined;
  /** Branch, tag or commit. */
  readonly ref: string | undefined;
  readonly fileName: string;
}

/** ArtifactSourceError says that the source cannot be fetched. */
export class ArtifactSourceError extends Error {
  override readonly name = 'ArtifactSourceError';
}

/**
 * Parses `[getter::]url[//subdirectory][?option=value…]`. Separate options win over those in the URL.
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

/** Returns the archive format. `archive=false` keeps an archive as a file. */
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
