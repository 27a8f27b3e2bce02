// nats-server's configuration of who may connect, made of lines of scripts/nats-access.mjs.
import { AUTH_REQUESTS } from '@waybill/journal';
import { natsAccounts, natsAdmissions } from '@waybill/rpc';

/**
 * @typedef {import('@waybill/rpc').NatsUser} NatsUser
 * @typedef {{ readonly issuer: string }} Issuer the line by which the `nodes` services admit machines themselves
 */

/**
 * @param {readonly (NatsUser | Issuer)[]} lines
 * @param {readonly NatsUser[]} [readers]
 * @returns {string}
 * @throws Error
 */
export function accountsText(lines, readers = []) {
  const users = lines.flatMap((line) => ('nkey' in line ? [line] : []));
  const [issuer, ...others] = lines.flatMap((line) => ('issuer' in line ? [line.issuer] : []));
  if (others.length > 0)
    throw new Error(`${others.length + 1} lines of an issuer, and NATS takes one: remove those that nobody uses`);
  const accounts = `accounts: ${JSON.stringify(natsAccounts(users, readers), null, 1)}\n`;
  if (issuer === undefined) return accounts;
  // The services that may hear the questions: `nodes`, or those with one key for all.
  const answering = users.filter(({ permissions }) => permissions?.subscribe.allow.includes(AUTH_REQUESTS) ?? true);
  const keys = answering.map(({ nkey }) => nkey);
  if (keys.length === 0)
    throw new Error(
      'there is a line of an issuer, but no line of nodes that may admit machines: replace it by the output of `node scripts/nats-access.mjs service nodes.seed nodes`',
    );
  return `${accounts}authorization: ${JSON.stringify(natsAdmissions(issuer, keys), null, 1)}\n`;
}
