import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { nkeys } from '@nats-io/transport-node';
import { z } from 'zod';
import { createSeedFile, CredentialsError } from './credentials.js';

/** The subject on which nats-server asks whether it may admit a connection that its configuration does not know. */
export const AUTH_REQUESTS = '$SYS.REQ.USER.AUTH';

/** The server that asks, and the name that it has given to the user of the connection. */
export interface Questioned {
  readonly serverId: string;
  readonly userKey: string;
}

/** AuthRequestError says that a question is not valid, or that its client has not proved to have a key. */
export class AuthRequestError extends Error {
  override readonly name = 'AuthRequestError';
  constructor(
    message: string,
    /** The server and the user that the answer is for; undefined if the question itself is not valid. */
    readonly questioned?: Questioned,
  ) {
    super(message);
  }
}

/** A connection that nats-server does not know. */
export interface ConnectRequest extends Questioned {
  /** The public key whose seed the client has proved to have. */
  readonly clientKey: string;
  /** The client's `auth_token`. Unchecked. */
  readonly token: string;
  /** The address of the client, for the log. */
  readonly host: string;
}

const userKey = z.string().regex(/^U[A-Z2-7]{55}$/);
const serverKey = z.string().regex(/^N[A-Z2-7]{55}$/);

const REQUEST = z.object({
  iss: serverKey,
  nats: z.object({
    server_id: z.object({ id: serverKey }),
    user_nkey: userKey,
    client_info: z.object({ host: z.string().default(''), nonce: z.string().default('') }),
    connect_opts: z.object({
      nkey: z.string().default(''),
      sig: z.string().default(''),
      auth_token: z.string().default(''),
    }),
  }),
});

/**
 * Reads a question of nats-server (AU-264). The server has not checked the client's signature, because it does not know
 * the key, so this function does: a client that names the key of another one would otherwise receive its responses.
 * @param text a JWT, signed by the server that asks
 * @throws AuthRequestError without any text of the client
 */
export function readConnectRequest(text: string): ConnectRequest {
  const [head = '', body = '', signature = '', ...rest] = text.split('.');
  const parsed = REQUEST.safeParse(jsonOf(body));
  if (!parsed.success || rest.length > 0)
    throw new AuthRequestError(`no question about a connection: ${missingMember(parsed.error)}`);
  const { iss, nats } = parsed.data;
  const { server_id, user_nkey, client_info, connect_opts } = nats;
  if (iss !== server_id.id || !isSignedBy(iss, `${head}.${body}`, signature))
    throw new AuthRequestError('the question is not signed by the server that it names');
  const questioned = { serverId: server_id.id, userKey: user_nkey };
  if (client_info.nonce === '' || !isSignedBy(connect_opts.nkey, client_info.nonce, connect_opts.sig))
    throw new AuthRequestError('the client does not have the key that it names', questioned);
  return {
    ...questioned,
    clientKey: connect_opts.nkey,
    token: connect_opts.auth_token,
    host: client_info.host,
  };
}

const missingMember = (error: z.ZodError | undefined): string => error?.issues[0]?.path.join('.') ?? 'not a JWT';

function jsonOf(encoded: string): unknown {
  try {
    return JSON.parse(Buffer.from(encoded, 'base64url').toString('utf8'));
  } catch {
    return undefined;
  }
}

function isSignedBy(key: string, text: string, signature: string): boolean {
  try {
    return nkeys.fromPublic(key).verify(Buffer.from(text, 'utf8'), Buffer.from(signature, 'base64'));
  } catch {
    return false; // the form is that of a key, and its checksum is wrong
  }
}

/** What a connection may do, in the form of nats-server's configuration. */
export interface UserPermissions {
  readonly publish: { readonly allow: readonly string[] };
  readonly subscribe: { readonly allow: readonly string[] };
  readonly allow_responses?: { readonly max: number; readonly expires: string };
}

/** An admitted connection. */
export interface AdmittedUser {
  /** Shown by nats-server in its list of connections. */
  readonly name: string;
  readonly account: string;
  readonly permissions: UserPermissions;
  /** Unix seconds at which the server closes the connection; the client then connects again. */
  readonly expiresS: number;
}

const NS_PER_UNIT: Readonly<Record<string, number>> = { s: 1e9, m: 60e9, h: 3_600e9 };

/** @throws RangeError if the text is not a whole number of seconds, minutes or hours */
function nanoseconds(text: string): number {
  const [, amount, unit] = /^(\d+)([smh])$/.exec(text) ?? [];
  const scale = NS_PER_UNIT[unit ?? ''];
  if (scale === undefined) throw new RangeError(`not a duration of nats-server: ${text}`);
  return Number(amount) * scale;
}

/**
 * ConnectionIssuer signs the answers to nats-server's questions with the key of an account, which the server knows from
 * `auth_callout.issuer` of its configuration. The seed admits every connection as anybody, so it is as secret as the key
 * of the services. Cost: two signatures for each admitted connection.
 */
export class ConnectionIssuer {
  private constructor(private readonly key: ReturnType<typeof nkeys.createAccount>) {}

  /** @param file contains the seed of an account's key @throws CredentialsError without the seed */
  static async read(file: string): Promise<ConnectionIssuer> {
    const text = await readFile(file, 'utf8').catch((cause: unknown) => {
      throw new CredentialsError(file, 'it cannot be read', { cause });
    });
    const seed = /\bSA[A-Z2-7]{56}\b/.exec(text)?.[0];
    if (seed === undefined) throw new CredentialsError(file, 'there is no seed of an account in it');
    try {
      return new ConnectionIssuer(nkeys.fromSeed(Buffer.from(seed, 'utf8')));
    } catch (cause) {
      throw new CredentialsError(file, 'its seed is damaged', { cause });
    }
  }

  get publicKey(): string {
    return this.key.getPublicKey();
  }

  /** Returns the answer by which the server admits the connection. @param nowS Unix seconds */
  admit(request: ConnectRequest, user: AdmittedUser, nowS: number): string {
    const { publish, subscribe, allow_responses: responses } = user.permissions;
    const claims = {
      type: 'user',
      version: 2,
      pub: { allow: publish.allow },
      sub: { allow: subscribe.allow },
      ...(responses && { resp: { max: responses.max, ttl: nanoseconds(responses.expires) } }),
      subs: -1,
      data: -1,
      payload: -1,
    };
    const jwt = this.signed(nowS, {
      sub: request.userKey,
      aud: user.account,
      exp: user.expiresS,
      name: user.name,
      nats: claims,
    });
    return this.answer(request, nowS, { jwt });
  }

  /** Returns the answer by which the server refuses the connection. It logs the reason, and the client does not see it. */
  refuse(request: Questioned, why: string, nowS: number): string {
    return this.answer(request, nowS, { error: why });
  }

  private answer({ userKey, serverId }: Questioned, nowS: number, verdict: object): string {
    const nats = { type: 'authorization_response', version: 2, ...verdict };
    return this.signed(nowS, { sub: userKey, aud: serverId, nats });
  }

  private signed(nowS: number, claims: object): string {
    const head = encoded({ typ: 'JWT', alg: 'ed25519-nkey' });
    const body = encoded({ jti: randomUUID(), iat: nowS, iss: this.publicKey, ...claims });
    const signature = this.key.sign(Buffer.from(`${head}.${body}`, 'utf8'));
    return `${head}.${body}.${Buffer.from(signature).toString('base64url')}`;
  }
}

/** Makes the key of an issuer. The seed is the secret. */
export function newIssuerKey(): { readonly seed: string; readonly publicKey: string } {
  const made = nkeys.createAccount();
  return { seed: new TextDecoder().decode(made.getSeed()), publicKey: made.getPublicKey() };
}

/**
 * The public key of the issuer whose seed is in the file. If there is no file, it is created with a new seed, readable by
 * its owner only. @throws CredentialsError
 */
export async function issuerKey(file: string): Promise<string> {
  const { seed, publicKey } = newIssuerKey();
  return (await createSeedFile(file, seed)) ? publicKey : (await ConnectionIssuer.read(file)).publicKey;
}

const encoded = (value: object): string => Buffer.from(JSON.stringify(value), 'utf8').toString('base64url');
