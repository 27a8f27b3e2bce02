// The users of NATS (docs/security.md). Prints a user's line, or the server's configuration made of such lines.
import { readFileSync } from 'node:fs';
import { issuerKey, userKey } from '@waybill/journal';
import { eventReader, serviceUser } from '@waybill/rpc';
import { KEYED_SERVICES, keyedServiceUser } from '@waybill/service';
import { accountsText } from './nats-accounts.mjs';

const USAGE = `usage:
  node scripts/nats-access.mjs service SEED-FILE         the line of Waybill's services, with one key for all
  node scripts/nats-access.mjs service SEED-FILE NAME    the line of one service, which may do its own work only:
                                                         ${KEYED_SERVICES.join(', ')}
  node scripts/nats-access.mjs events SEED-FILE          the line of a program that reads events
  node scripts/nats-access.mjs issuer SEED-FILE          the line by which the nodes services admit machines themselves
  node scripts/nats-access.mjs accounts USERS [READERS]  nats-server's configuration for the lines in these files

A seed file is made where there is none. The line of a machine is printed by apps/agent/dist/enrol/main.js there.
`;

/** @param {string | undefined} file one user in each line, as JSON; empty lines do not count */
const usersIn = (file) =>
  file === undefined
    ? []
    : readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => line.trim() !== '')
        .map((line) => JSON.parse(line));

/** @param {string} given @returns {given is import('@waybill/service').KeyedService} */
const isKeyed = (given) => KEYED_SERVICES.some((one) => one === given);

/** @param {string} seedFile @param {import('@waybill/service').KeyedService | undefined} service */
async function userOf(seedFile, service) {
  const key = await userKey(seedFile);
  return service === undefined ? serviceUser(key) : keyedServiceUser(service, key);
}

const [command, file, readers] = process.argv.slice(2);
const name = readers; // the third argument of `service`
if (file === undefined) {
  process.stderr.write(USAGE);
  process.exitCode = 64;
} else if (command === 'service' && (name === undefined || isKeyed(name)))
  process.stdout.write(`${JSON.stringify(await userOf(file, name))}\n`);
else if (command === 'events') process.stdout.write(`${JSON.stringify(eventReader(await userKey(file)))}\n`);
else if (command === 'issuer') process.stdout.write(`${JSON.stringify({ issuer: await issuerKey(file) })}\n`);
else if (command === 'accounts') process.stdout.write(accountsText(usersIn(file), usersIn(readers)));
else {
  process.stderr.write(USAGE);
  process.exitCode = 64;
}
