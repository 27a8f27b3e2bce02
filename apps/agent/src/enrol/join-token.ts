import { z } from 'zod';

const PREFIX = 'waybill-join-';

const JOIN = z.object({
  /** URL of NATS. */
  nats: z.string().regex(/^(nats|tls):\/\/[^\s]+$/),
  node: z.uuid(),
  /** Of the machine's key at NATS. Secret. */
  seed: z.string().regex(/^SU[A-Z2-7]{56}$/),
  /** Certificate of the authority that NATS is believed by, in PEM; absent: one of the system's. */
  ca: z
    .string()
    .regex(/^-----BEGIN CERTIFICATE-----\n/)
    .optional(),
});

/** What a machine needs in order to join a cluster. */
export type Join = Readonly<z.output<typeof JOIN>>;

/** The text is no token. It is never part of the message. */
export class JoinTokenError extends Error {
  override readonly name = 'JoinTokenError';
  constructor() {
    super('this is no token of "waybill agent invite": copy all of the line that it prints');
  }
}

export const encodeJoinToken = (join: Join): string =>
  PREFIX + Buffer.from(JSON.stringify(join), 'utf8').toString('base64url');

/** @throws JoinTokenError */
export function decodeJoinToken(text: string): Join {
  const token = text.trim();
  if (!token.startsWith(PREFIX)) throw new JoinTokenError();
  try {
    return JOIN.parse(JSON.parse(Buffer.from(token.slice(PREFIX.length), 'base64url').toString('utf8')));
  } catch {
    throw new JoinTokenError();
  }
}
