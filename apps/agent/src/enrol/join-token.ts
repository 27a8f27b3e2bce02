import { z } from 'zod';

const PREFIX = 'waybill-join-';

const CLUSTER = {
  /** URL of NATS. */
  nats: z.string().regex(/^(nats|tls):\/\/[^\s]+$/),
  /** The certificate of the authority for NATS, in PEM; absent if the system's authorities count. */
  ca: z
    .string()
    .regex(/^-----BEGIN CERTIFICATE-----\n/)
    .optional(),
};

const JOIN = z.union([
  z.object({
    ...CLUSTER,
    node: z.uuid(),
    /** The seed of the machine's key at NATS, which is secret. */
    seed: z.string().regex(/^SU[A-Z2-7]{56}$/),
  }),
  z.object({
    ...CLUSTER,
    /** The introduction token by which the services admit the machine (AU-265). The machine makes its own key. */
    introduction: z.string().regex(/^[\w-]+\.[\w-]+\.[\w-]+$/),
  }),
]);

/** Join contains what a machine needs to join a cluster: its key, or a token by which it is admitted. */
export type Join = Readonly<z.output<typeof JOIN>>;

/** JoinTokenError says that a token is invalid. The message never contains the text. */
export class JoinTokenError extends Error {
  override readonly name = 'JoinTokenError';
  constructor() {
    super(
      'this is no token of "waybill agent invite" or "waybill node intro create -nats": copy all of the line that it prints',
    );
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
