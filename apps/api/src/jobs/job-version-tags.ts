import type { TransactionWriter } from '@waybill/writing';
import {
  type JobVersionTag,
  MAX_LONG_DESCRIPTION_CHARS,
  MAX_VERSION_TAG_BYTES,
  nameLengthErrors,
} from '@waybill/model';
import { DEFAULT_TRACKED_VERSIONS } from '@waybill/state';
import { notFound, badRequest } from '../http/api-error.js';
import { asObject, boolOf, stringOf, uintOf } from '../http/json-members.js';
import type { Requester } from '../http/requester.js';

export interface TagWish {
  readonly version: number;
  /** Is true if the tag is for the current version. */
  readonly latest: boolean;
  readonly description: string;
}

/** Decodes a tag and the version that gets it (API-166). @throws Refusal, DecodeError */
export function readTagRequest(json: unknown): TagWish {
  const body = asObject(json, 'TagRequest');
  const wish = {
    version: uintOf(body, 'Version'),
    latest: boolOf(body, 'Latest'),
    description: stringOf(body, 'Description'),
  };
  if (wish.latest && wish.version > 0)
    throw badRequest(`version must be zero when tagging latest, got: ${wish.version}`);
  const length = Array.from(wish.description).length;
  if (length > MAX_LONG_DESCRIPTION_CHARS)
    throw badRequest(
      `Tagged version description must be under ${MAX_LONG_DESCRIPTION_CHARS} characters, currently ${length}`,
    );
  return wish;
}

/**
 * Returns the job and the tag in a path `/v1/job/:id/versions/:name/tag` (API-7). @param rest the decoded path without
 * `/tag` @throws Refusal not-found
 */
export function tagPathOf(rest: string): { readonly id: string; readonly name: string } {
  const [id = '', versions, name = '', ...more] = rest.split('/');
  if (versions !== 'versions' || id === '' || name === '' || more.length > 0)
    throw notFound('invalid job tag endpoint');
  return { id, name };
}

export interface TagPlace {
  readonly namespace: string;
  readonly id: string;
  readonly name: string;
}

/**
 * JobVersionTags gives names to kept versions of jobs. The application of the transaction decides whether a version may
 * have a name (ST-88, ST-89).
 */
export class JobVersionTags {
  constructor(private readonly writer: TransactionWriter) {}

  /** @throws Refusal */
  async apply(place: TagPlace, wish: TagWish, requester: Requester): Promise<{ tag: JobVersionTag; index: number }> {
    const [tooLong] = nameLengthErrors('Tag name', place.name, MAX_VERSION_TAG_BYTES);
    if (tooLong !== undefined) throw badRequest(tooLong);
    const TaggedTime = this.writer.nowNs();
    const tag = { Name: place.name, Description: wish.description, TaggedTime };
    return { tag, index: await this.write(place, wish, tag, requester) };
  }

  /** Resolves with the index. @throws Refusal */
  remove(place: TagPlace, requester: Requester): Promise<number> {
    return this.write(place, { version: 0, latest: false }, null, requester);
  }

  private async write(
    { namespace, id, name }: TagPlace,
    { version, latest }: Pick<TagWish, 'version' | 'latest'>,
    Tag: JobVersionTag | null,
    requester: Requester,
  ): Promise<number> {
    const payload = {
      JobID: id,
      Version: version,
      Latest: latest,
      Name: name,
      Tag,
      TrackedVersions: DEFAULT_TRACKED_VERSIONS,
    };
    return (await this.writer.write({ type: 'JobVersionTag', payload, namespace }, requester.author)).index;
  }
}
