import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ConnectionIssuer, issuerKey } from '@waybill/journal';
import { type Logger, silentLogger } from '@waybill/telemetry';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { AdmissionServer, type QuestionSource } from './admissions.transport.js';

type Handler = Parameters<QuestionSource['subscribe']>[1]['callback'];

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'waybill-admissions-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

/** A server of admissions, and what its connection to NATS tells it. */
async function started(drain: () => Promise<void>) {
  const seedFile = path.join(dir, 'issuer.seed');
  await issuerKey(seedFile);
  const errors: unknown[] = [];
  const logger: Logger = { ...silentLogger, error: (message, fields) => errors.push([message, fields?.['error']]) };
  let handler: Handler | undefined;
  const server = new AdmissionServer({
    nc: {
      subscribe: (_subject, { callback }) => {
        handler = callback;
        return { drain };
      },
    },
    issuer: await ConnectionIssuer.read(seedFile),
    admissions: { decide: () => Promise.reject(new Error('was not asked')) },
    clock: { nowMs: () => 0 },
    logger,
    answered: () => undefined,
  });
  server.start();
  return { server, errors, hear: (error: Error) => handler?.(error, { string: () => '', respond: () => true }) };
}

it('AU-264: says that NATS does not let it hear the questions', async () => {
  const { errors, hear } = await started(() => Promise.resolve());
  const refused = new Error('Permissions Violation');
  hear(refused);
  expect(errors).toEqual([[expect.stringContaining('make the line of nodes in its configuration anew'), refused]]);
});

it('stops although its subscription has ended', async () => {
  const { server } = await started(() => Promise.reject(new Error('subscription is closed')));
  await expect(server.stop()).resolves.toBeUndefined();
});
