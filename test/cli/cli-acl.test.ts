import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { AccessCluster } from '../support/access-cluster.js';
import { runCli } from '../support/cli.js';

let cluster: AccessCluster;
let management = '';

beforeAll(async () => {
  cluster = await AccessCluster.open(['projector', 'broker', 'scheduler', 'api']);
  management = valueOf(await succeeds('', 'acl', 'bootstrap'), 'Secret ID');
});
afterAll(async () => {
  await cluster?.stop();
});

const run = (token: string, ...words: string[]) => runCli(cluster.waybill.api.url, words, { NOMAD_TOKEN: token });

/** What a command prints that ends with 0. */
async function succeeds(token: string, ...words: string[]): Promise<string> {
  const { code, out, err } = await run(token, ...words);
  expect({ words, code, err: code === 0 ? '' : err }).toEqual({ words, code: 0, err: '' });
  return out;
}

/** What a command says on stderr that ends with 1. */
async function fails(token: string, ...words: string[]): Promise<string> {
  const { code, err } = await run(token, ...words);
  expect({ words, code }).toEqual({ words, code: 1 });
  return err;
}

/** The value behind a key of a list that a command prints. */
function valueOf(text: string, key: string): string {
  const line = text.split('\n').find((one) => one.startsWith(`${key} `)) ?? '';
  return line.slice(line.indexOf('=') + 1).trim();
}

function fileWith(name: string, text: string): string {
  const file = path.join(cluster.keyDir, name);
  writeFileSync(file, text);
  return file;
}

it('CL-841 AU-304: bootstrap prints a management token once, and says what to do the second time', async () => {
  expect(management).toMatch(/^[0-9a-f-]{36}$/);
  expect(await fails('', 'acl', 'bootstrap')).toMatch(
    /Error bootstrapping: .*ACL bootstrap already done \(reset index: \d+\)/,
  );
});

it('CL-843 AU-302: a policy is written from a file, listed, shown and deleted', async () => {
  const rules = fileWith('readers.hcl', 'namespace "default" { policy = "read" }\n');
  const out = await succeeds(management, 'acl', 'policy', 'apply', '-description', 'may look', 'readers', rules);
  expect(out).toBe('Successfully wrote "readers" ACL policy!\n');
  expect(await succeeds(management, 'acl', 'policy', 'list')).toMatch(/^Name +Description\nreaders +may look\n$/);
  expect(await succeeds(management, 'acl', 'policy', 'info', 'readers')).toContain('namespace "default"');
  const wrong = fileWith('wrong.hcl', 'namespace "default" { policy = "everything" }\n');
  expect(await fails(management, 'acl', 'policy', 'apply', 'wrong', wrong)).toMatch(
    /Error writing ACL policy: .*Invalid namespace policy/s,
  );
  expect(await fails(management, 'acl', 'policy', 'apply', 'wrong', '/nowhere')).toContain('Failed to read file');
});

it('CL-841 AU-303: a token may what its policy says, and no more', async () => {
  const made = await succeeds(management, 'acl', 'token', 'create', '-name', 'ci', '-policy', 'readers', '-ttl', '1h');
  const [secret, accessor] = [valueOf(made, 'Secret ID'), valueOf(made, 'Accessor ID')];
  expect(await succeeds(secret, 'job', 'status')).toBe('No running jobs\n');
  expect(await fails(secret, 'node', 'status')).toContain('Permission denied');
  expect(await fails('', 'job', 'status')).toContain('Permission denied');
  expect(valueOf(await succeeds(secret, 'acl', 'token', 'self'), 'Accessor ID')).toBe(accessor);
  expect(await succeeds(secret, 'acl', 'policy', 'self')).toContain('readers');
  expect(await succeeds(management, 'acl', 'token', 'list')).not.toContain(secret);
  expect(await fails(secret, 'acl', 'token', 'list')).toContain('Permission denied');
  await succeeds(management, 'acl', 'token', 'update', '-name', 'renamed', accessor);
  expect(valueOf(await succeeds(management, 'acl', 'token', 'info', accessor), 'Name')).toBe('renamed');
  await succeeds(management, 'acl', 'token', 'delete', accessor);
  expect(await fails(secret, 'job', 'status')).toContain('Permission denied');
});

it('AU-301: a role bundles policies; a token has what its role has', async () => {
  const role = valueOf(await succeeds(management, 'acl', 'role', 'create', '-name', 'dev', '-policy', 'readers'), 'ID');
  expect(await succeeds(management, 'acl', 'role', 'list')).toContain('dev');
  const made = await succeeds(management, 'acl', 'token', 'create', '-name', 'dev', '-role-name', 'dev');
  expect(await succeeds(valueOf(made, 'Secret ID'), 'job', 'status')).toBe('No running jobs\n');
  expect(await succeeds(management, 'acl', 'role', 'info', '-by-name', 'dev')).toContain(role);
  await succeeds(management, 'acl', 'role', 'delete', role);
  expect(await fails(valueOf(made, 'Secret ID'), 'job', 'status')).toContain('Permission denied');
  expect(await fails(management, 'acl', 'role', 'create', '-name', 'empty')).toContain('At least one policy name');
});

it('CL-842: without a token there is no self', async () => {
  expect(await fails('', 'acl', 'token', 'self')).toContain(
    'No token present in the environment or set via the CLI flag',
  );
});
