// What identities cost: signing and verifying tokens, a service that unwraps a root key, and a rotation.
import { randomBytes } from 'node:crypto';
import { AeadWrapper, Keyring, newRootKey } from '@waybill/keyring';
import { freePort } from '@waybill/embedded';
import { percentile } from './harness.mjs';
import { Client } from './http-client.mjs';
import { ServiceProcesses, until } from './processes.mjs';

export const describe = 'identities: signing, verifying, unwrapping a root key, a rotation over HTTP';

const TOKENS = 1_000;
const UNWRAPPED = 50;
const ROTATIONS = 30;

/** @param {import('./harness.mjs').Bench} ctx */
export async function run(ctx) {
  const wrapper = new AeadWrapper(randomBytes(32));
  const made = await newRootKey(wrapper, { KeyID: 'bench', State: 'active', CreateTime: 1, PublishTime: 0 });
  const row = { ...made, CreateIndex: 1, ModifyIndex: 1 };
  const keys = { find: () => row, active: () => row, all: () => [row] };
  const keyringOf = () => new Keyring({ wrapper, keys, nowMs: () => Date.now() });
  const keyring = keyringOf();
  const token = await keyring.signJwt('bench', claims(0));

  await measureSigning(ctx, keyring);
  await ctx.measure('verifyPerSecond', { unit: 'tokens/s' }, async () => {
    const ms = await ctx.time(() => Promise.all(Array.from({ length: TOKENS }, () => keyring.verifyJwt(token))));
    return (TOKENS / ms) * 1_000;
  });
  const unwrappings = [];
  for (let n = 0; n < UNWRAPPED; n++) unwrappings.push(await ctx.time(() => keyringOf().ready()));
  ctx.metric('unwrapP50Ms', percentile(unwrappings, 50), { unit: 'ms' });
  await measureRotations(ctx);
  ctx.note('one process signs and verifies, as many tokens at once as its thread pool takes; RSA-2048');
}

/**
 * Measures how many identities a process signs, as many at once as its thread pool takes.
 *
 * @param {import('./harness.mjs').Bench} ctx
 * @param {Keyring} keyring whose active key signs
 */
export async function measureSigning(ctx, keyring) {
  await ctx.measure('identitiesPerSecond', { unit: '/s', goal: { atLeast: 5_000 } }, async () => {
    const ms = await ctx.time(() =>
      Promise.all(Array.from({ length: TOKENS }, (_, n) => keyring.signJwt(undefined, claims(n)))),
    );
    return (TOKENS / ms) * 1_000;
  });
}

/** @param {import('./harness.mjs').Bench} ctx */
async function measureRotations(ctx) {
  const processes = await ServiceProcesses.start(ctx);
  const key = { WAYBILL_KEYRING_KEY: randomBytes(32).toString('hex') };
  const port = await freePort();
  await processes.add('projector');
  await processes.add('broker', 'broker', key);
  await processes.add('api', 'api', { WAYBILL_HTTP_PORT: String(port), ...key });
  const api = new Client(port);
  ctx.onEnd(() => api.stop());
  const keys = async () => JSON.parse((await api.ask('/v1/operator/keyring/keys')).toString());
  await until('the first key is made', async () => (await keys()).length > 0);
  const rotations = [];
  for (let n = 0; n < ROTATIONS; n++)
    rotations.push(await ctx.time(() => api.ask('/v1/operator/keyring/rotate', { method: 'PUT' })));
  ctx.metric('rotateP50Ms', percentile(rotations, 50), { unit: 'ms' });
  ctx.metric('rotateP99Ms', percentile(rotations, 99), { unit: 'ms' });
}

/** As large as those of a task's default identity. @param {number} n */
const claims = (n) => ({
  aud: 'nomadproject.io',
  iat: Math.floor(Date.now() / 1_000),
  jti: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
  sub: 'global:default:checkout:web:server:default',
  nomad_namespace: 'default',
  nomad_job_id: 'checkout',
  nomad_allocation_id: '00000000-0000-4000-8000-000000000000',
  nomad_task: 'server',
});
