import { errorText } from '@waybill/model';
import {
  DiscardPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
  jetstreamManager,
  RetentionPolicy,
  StorageType,
  type JetStreamManager,
  type StreamConfig,
} from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import type { NatsLink } from './connection.js';
import { LogUnavailableError } from './errors.js';
import { TXN_STREAM } from './subject.js';

export const EVENTS_STREAM = 'EVENTS';
export const LEASES_BUCKET = 'LEASES';
/** Archives of restored states, in chunks; they stay while the log can name them. */
export const ARCHIVES_STREAM = 'ARCHIVES';
/** Logins that began at an OpenID provider and have not come back yet, by their nonce, sealed. */
export const LOGINS_STREAM = 'LOGINS';
/** How long a login may be pending at a provider, and how many may be pending at a time (AU-95). */
export const LOGIN_PENDING_MS = 60_000;
export const MAX_PENDING_LOGINS = 1_000;
/** JWTs that have logged in, by a keyed hash, each until it expires: they log in once (AU-84). */
export const USED_LOGINS_STREAM = 'USED_LOGINS';
/** JWTs that are remembered at a time. While there are so many, no other one logs in. */
export const MAX_USED_LOGINS = 100_000;

/** Audit records of requests to the cluster (AU-271). */
export const AUDIT_STREAM = 'AUDIT';

/** Largest message of the log and of the event stream, bytes: a size that nats-server handles well (ST-14). */
export const MAX_MESSAGE_BYTES = 8 * 1024 * 1024;
/** Within this time a RequestID that is published again is stored once (ST-6), milliseconds. */
export const DUPLICATE_WINDOW_MS = 120_000;
/** How long events stay readable: until the first limit is reached. */
export const EVENTS_MAX_AGE_MS = 7 * 24 * 3_600_000;
export const EVENTS_MAX_FRAMES = 1_000_000;
/** How long a marker of an expired or released lease stays for watchers, milliseconds. */
export const LEASE_MARKER_MS = 60_000;
/** Timeout of one request to JetStream's API, milliseconds. */
export const API_TIMEOUT_MS = 1_000;
/** Longest time from the server's start until JetStream answers, milliseconds. */
export const ENSURE_DEADLINE_MS = 15_000;
const ENSURE_PAUSE_MS = 100;

/** "stream name already in use with a different configuration" */
const STREAM_NAME_IN_USE = 10058;
/** "no suitable peers for placement": servers of the cluster have not joined yet, or have no room. */
const NO_PEERS = 10005;
/** Codes of bad requests that are none a moment later. */
const PASSING_CODES = new Set([STREAM_NAME_IN_USE, NO_PEERS]);

export interface StreamOptions {
  /** Copies of each stream: 1 on one server, 3 in production. */
  readonly replicas: number;
  /** How long a server that is still starting is waited for; default: ENSURE_DEADLINE_MS. */
  readonly deadlineMs?: number;
}

export interface AuditStreamOptions extends StreamOptions {
  /** How long a record is kept. */
  readonly maxAgeMs: number;
}

/** Whether JetStream refused a message because the last one on its subject is not the expected one. */
export const isWrongLastSequence = (error: unknown): boolean =>
  error instanceof JetStreamApiError &&
  (error.code === JetStreamApiCodes.StreamWrongLastSequence ||
    error.code === JetStreamApiCodes.StreamWrongLastSequenceUnknown);

/** JetStream's administration, with timeouts short enough for a request path. */
export const managerOf = (link: NatsLink): Promise<JetStreamManager> =>
  jetstreamManager(link.nc, { checkAPI: false, timeout: API_TIMEOUT_MS });

/** A request for the first message at `seq` or after it. The server knows this form, the client's types do not. */
export const nextMessage = (seq: number, subject: string): { seq: number; next_by_subj: string } => ({
  seq,
  next_by_subj: subject,
});

type WantedStream = Partial<StreamConfig> & Pick<StreamConfig, 'name' | 'subjects' | 'num_replicas' | 'allow_direct'>;

function wantedStreams(replicas: number): readonly WantedStream[] {
  // No direct gets: any copy answers those, also one that lacks acknowledged messages. Only readers of EVENTS allow for
  // that.
  const durable = { storage: StorageType.File, num_replicas: replicas, allow_direct: false } as const;
  return [
    {
      ...durable,
      name: TXN_STREAM,
      subjects: [`${TXN_STREAM}.>`],
      retention: RetentionPolicy.Limits,
      // If an operator sets a limit, writing fails when it is reached; the log never drops its oldest part by itself.
      discard: DiscardPolicy.New,
      duplicate_window: nanos(DUPLICATE_WINDOW_MS),
      max_msg_size: MAX_MESSAGE_BYTES,
      deny_delete: true,
    },
    {
      ...durable,
      allow_direct: true,
      name: EVENTS_STREAM,
      subjects: [`${EVENTS_STREAM}.>`],
      retention: RetentionPolicy.Limits,
      discard: DiscardPolicy.Old,
      max_age: nanos(EVENTS_MAX_AGE_MS),
      max_msgs: EVENTS_MAX_FRAMES,
      duplicate_window: nanos(DUPLICATE_WINDOW_MS),
      max_msg_size: MAX_MESSAGE_BYTES,
    },
    {
      ...durable,
      name: ARCHIVES_STREAM,
      subjects: [`${ARCHIVES_STREAM}.>`],
      max_msgs_per_subject: 1,
      max_msg_size: MAX_MESSAGE_BYTES,
    },
    {
      ...durable,
      name: LOGINS_STREAM,
      subjects: [`${LOGINS_STREAM}.*`],
      // When the stream is full, new messages are refused, so that a flood of new logins displaces no pending one.
      discard: DiscardPolicy.New,
      max_age: nanos(LOGIN_PENDING_MS),
      max_msgs: MAX_PENDING_LOGINS,
      max_msgs_per_subject: 1,
      duplicate_window: nanos(LOGIN_PENDING_MS),
    },
    {
      ...durable,
      name: USED_LOGINS_STREAM,
      subjects: [`${USED_LOGINS_STREAM}.*`],
      discard: DiscardPolicy.New,
      max_msgs: MAX_USED_LOGINS,
      max_msgs_per_subject: 1,
      allow_msg_ttl: true,
    },
    {
      ...durable,
      // A key-value bucket is a stream of this form; TTLs of single keys need the last two settings.
      name: `KV_${LEASES_BUCKET}`,
      subjects: [`$KV.${LEASES_BUCKET}.>`],
      max_msgs_per_subject: 1,
      discard: DiscardPolicy.New,
      duplicate_window: nanos(DUPLICATE_WINDOW_MS),
      allow_rollup_hdrs: true,
      deny_delete: true,
      allow_msg_ttl: true,
      subject_delete_marker_ttl: nanos(LEASE_MARKER_MS),
    },
  ];
}

/**
 * Creates missing streams and updates the number of copies of existing ones. Any number of services may do this at
 * once. Waits for a server that is still starting. @throws LogUnavailableError after the deadline
 */
export async function ensureStreams(link: NatsLink, options: StreamOptions): Promise<void> {
  await ensureAll(link, wantedStreams(options.replicas), options.deadlineMs);
}

/**
 * Creates or updates the stream of the audit log, as `ensureStreams` does. Its messages cannot be deleted or purged.
 * @throws LogUnavailableError
 */
export async function ensureAuditStream(link: NatsLink, { replicas, maxAgeMs }: AuditStreamOptions): Promise<void> {
  const stream: WantedStream = {
    name: AUDIT_STREAM,
    subjects: [`${AUDIT_STREAM}.>`],
    storage: StorageType.File,
    num_replicas: replicas,
    allow_direct: false,
    retention: RetentionPolicy.Limits,
    max_age: nanos(maxAgeMs),
    deny_delete: true,
    deny_purge: true,
  };
  await ensureAll(link, [stream]);
}

async function ensureAll(
  link: NatsLink,
  streams: readonly WantedStream[],
  deadlineMs = ENSURE_DEADLINE_MS,
): Promise<void> {
  const until = performance.now() + deadlineMs;
  const manager = await managerOf(link);
  for (const wanted of streams) {
    for (;;) {
      try {
        await ensureStream(manager, wanted);
        break;
      } catch (e) {
        const reason = errorText(e);
        const isRefused = e instanceof JetStreamApiError && e.status === 400 && !PASSING_CODES.has(e.code);
        if (isRefused || performance.now() >= until)
          throw new LogUnavailableError(`cannot create stream ${wanted.name}: ${reason}`, { cause: e, isRefused });
        await new Promise((resolve) => setTimeout(resolve, ENSURE_PAUSE_MS));
      }
    }
  }
}

async function configOf(manager: JetStreamManager, name: string): Promise<StreamConfig | undefined> {
  try {
    return (await manager.streams.info(name)).config;
  } catch (e) {
    if (e instanceof JetStreamApiError && e.code === JetStreamApiCodes.StreamNotFound) return undefined;
    throw e;
  }
}

async function ensureStream(manager: JetStreamManager, wanted: WantedStream): Promise<void> {
  const config = await configOf(manager, wanted.name);
  if (!config) {
    await manager.streams.add(wanted);
    return;
  }
  // An operator's limits stay; we set only the number of copies, and who may read them. Another process may have created
  // the stream, and a service whose key may not change streams needs nothing but the stream.
  const { num_replicas, allow_direct } = wanted;
  if (config.num_replicas !== num_replicas || config.allow_direct !== allow_direct)
    await manager.streams.update(wanted.name, { num_replicas, allow_direct });
}
