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
 */
export function accountsText(lines, readers = []) {
  const users = lines.flatMap((line) => ('nkey' in line ? [line] : []));
  const issuer = lines.flatMap((line) => ('issuer' in line ? [line.issuer] : []))[0];
  const accounts = `accounts: ${JSON.stringify(natsAccounts(users, readers), null, 1)}\n`;
  if (issuer === undefined) return accounts;
  // The services that may hear the questions: `nodes`, or those with one key for all.
  const answering = users.filter(({ permissions }) => permissions?.subscribe.allow.includes(AUTH_REQUESTS) ?? true);
  const keys = answering.map(({ nkey }) => nkey);
  return `${accounts}authorization: ${JSON.stringify(natsAdmissions(issuer, keys), null, 1)}\n`;
}
