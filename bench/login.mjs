// Logins by JWT over real servers: signature, claims, selectors, roles and policies, a transaction, and its read.
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from '@waybill/embedded';
import { percentile } from './harness.mjs';
import { ServiceProcesses } from './processes.mjs';

export const describe = 'logins by JWT: a verified token, 20 binding rules, and the ACL token written and read back';

const LOGINS = 300;
const WARM_UP = 30;
const RULES = 20;
const AT_ONCE = 16;

const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });

/** @param {object} value */
const encoded = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** A JWT of some 30 groups, as an identity provider sends it. */
function jwt() {
  const now = Math.floor(Date.now() / 1000);
  const groups = Array.from({ length: 30 }, (_, n) => `group-${n}`);
  const claims = { iss: 'bench', sub: 'somebody', aud: 'waybill', iat: now, exp: now + 300, groups };
  const input = `${encoded({ alg: 'RS256' })}.${encoded(claims)}`;
  return `${input}.${sign('sha256', Buffer.from(input), privateKey).toString('base64url')}`;
}

/** @param {import('./harness.mjs').Bench} ctx */
export async function run(ctx) {
  const dir = mkdtempSync(path.join(tmpdir(), 'waybill-bench-login-'));
  ctx.onEnd(() => rmSync(dir, { recursive: true }));
  const keyFile = path.join(dir, 'key');
  writeFileSync(keyFile, randomBytes(32).toString('hex'), { mode: 0o600 });
  const processes = await ServiceProcesses.start(ctx);
  const port = await freePort();
  await processes.add('projector');
  await processes.add('api', 'api', {
    WAYBILL_HTTP_PORT: String(port),
    WAYBILL_ACL_ENABLED: 'true',
    WAYBILL_ACL_KEY_FILE: keyFile,
  });
  let management = '';
  /** @param {string} url @param {object} body */
  const put = async (url, body) => {
    const answer = await fetch(`http://127.0.0.1:${port}${url}`, {
      method: 'PUT',
      headers: management === '' ? {} : { 'X-Nomad-Token': management },
      body: JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`PUT ${url}: ${answer.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  };
  management = (await put('/v1/acl/bootstrap', {})).SecretID;
  await prepare(put);
  const login = async () => {
    const LoginToken = jwt();
    const began = performance.now();
    await put('/v1/acl/login', { AuthMethodName: 'ci', LoginToken });
    return performance.now() - began;
  };
  for (let n = 0; n < WARM_UP; n++) await login();
  /** @type {number[]} */
  const alone = [];
  for (let n = 0; n < LOGINS; n++) alone.push(await login());
  ctx.metric('jwtLoginP50Ms', percentile(alone, 50), { unit: 'ms', goal: { below: 20 } });
  ctx.metric('jwtLoginP99Ms', percentile(alone, 99), { unit: 'ms' });
  /** @type {number[]} */
  const plain = [];
  for (let n = 0; n < LOGINS; n++) {
    const began = performance.now();
    await put('/v1/acl/token', { Name: 'plain', Type: 'client', Policies: ['readers'], ExpirationTTL: '10m' });
    plain.push(performance.now() - began);
  }
  ctx.metric('tokenP50Ms', percentile(plain, 50), { unit: 'ms' });
  ctx.ratio('loginCost', 'jwtLoginP50Ms', 'tokenP50Ms');
  const began = performance.now();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let n = 0; n < LOGINS / AT_ONCE; n++) await login();
    }),
  );
  ctx.metric('jwtLoginsPerSecond', (LOGINS / (performance.now() - began)) * 1000, { unit: 'logins/s' });
  ctx.note(
    `RS256 with a key of the method, 30 groups, ${RULES} rules of which two match; ${AT_ONCE} at once in the last figure`,
  );
  ctx.note('the API, the projector, nats-server, PostgreSQL and this program share the cores');
}

/** A method, a policy, a role and the rules. @param {(url: string, body: object) => Promise<unknown>} put */
async function prepare(put) {
  await put('/v1/acl/policy/readers', { Name: 'readers', Rules: 'namespace "default" { policy = "read" }' });
  await put('/v1/acl/role', { Name: 'team', Policies: [{ Name: 'readers' }] });
  await put('/v1/acl/auth-method', {
    Name: 'ci',
    Type: 'JWT',
    TokenLocality: 'local',
    MaxTokenTTL: '10m',
    Config: {
      JWTValidationPubKeys: [publicKey.export({ type: 'spki', format: 'pem' })],
      BoundAudiences: ['waybill'],
      ClaimMappings: { sub: 'user' },
      ListClaimMappings: { groups: 'groups' },
    },
  });
  const matching = [
    { BindType: 'policy', BindName: 'readers', Selector: '"group-7" in list.groups' },
    { BindType: 'role', BindName: 'team', Selector: 'any list.groups as g { g matches "^group-2.$" }' },
  ];
  const others = Array.from({ length: RULES - matching.length }, (_, n) => ({
    BindType: 'policy',
    BindName: 'readers',
    Selector: `value.user == "nobody-${n}"`,
  }));
  for (const rule of [...matching, ...others]) await put('/v1/acl/binding-rule', { AuthMethod: 'ci', ...rule });
}
