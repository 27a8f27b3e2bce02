import { randomBytes } from 'node:crypto';
import { fixtures } from '@waybill/state';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NEEDED_ROUTES } from '../../apps/ui/src/api/needed-routes.js';
import { AccessCluster } from '../support/access-cluster.js';
import { shellJob } from '../support/api-client.js';
import { CLIENT_ID, CLIENT_SECRET, OpenIdProvider } from '../support/openid-provider.js';
import { hasChromium, WebBrowser } from '../support/web-browser.js';
import { WrittenCluster } from '../support/written-cluster.js';

/**
 * The pages in a real browser while access control is on. There is no machine: the test writes what machines would
 * report.
 */

const { aCSIClaim, aControllerPlugin, aGroup, aJob, anAlloc, anEval, aNode, aNodePlugin } = fixtures;
const { aPlanResult, aRegistration, aVolumeRegistration, aVolumeRequest, uuid } = fixtures;

/** Reads everything that runs, and the variables of one job. */
const READER = `namespace "*" {
  policy = "read"
  variables {
    path "nomad/jobs/web*" { capabilities = ["read", "list"] }
  }
}`;

/** Markup and script in a text, which must stay letters. */
const HOSTILE = `<img src=x onerror="document.title='owned'">`;

let cluster: AccessCluster;
let written: WrittenCluster;
let browser: WebBrowser;
let provider: OpenIdProvider | undefined;

const button = (name: string) => browser.page.getByRole('button', { name, exact: true });

/** Presses a button that asks first, and says yes. */
async function confirm(name: string): Promise<void> {
  await button(name).first().click();
  const dialog = browser.page.getByRole('dialog');
  await dialog.getByRole('button', { name, exact: true }).click();
  await dialog.waitFor({ state: 'detached' });
}

/** Signs in on the page for that; an earlier token is dropped first. */
async function signIn(secret: string): Promise<void> {
  const { page } = browser;
  await page.goto('/ui/settings/tokens');
  await page.getByRole('heading', { name: /^Sign(ed)? in$/ }).waitFor();
  if (await button('Sign out').isVisible()) await button('Sign out').click();
  await page.getByLabel('Secret of the token').fill(secret);
  await page.keyboard.press('Enter');
  await button('Sign out').waitFor();
}

/** A token that the provider has signed for a project of a CI. */
function signedFor(by: OpenIdProvider, project: string): Promise<string> {
  const nowS = Math.floor(Date.now() / 1_000);
  return by.jwt({ aud: 'waybill', sub: `project:${project}`, project, iat: nowS, nbf: nowS, exp: nowS + 600 });
}

const MACHINES = 100;

/** A machine of one of two datacenters. */
const fullNode = (at: number) =>
  aNode({ ID: uuid(0x1000 + at), Name: `machine-${String(at).padStart(3, '0')}`, Datacenter: `dc-${at % 2}` });

const writeVariable = (Path: string, Items: Record<string, string>) =>
  cluster.asked('PUT', `/v1/var/${encodeURIComponent(Path)}`, { Path, Namespace: 'default', Items });

async function start(): Promise<void> {
  cluster = await AccessCluster.start(['projector', 'broker', 'scheduler', 'api'], {
    WAYBILL_KEYRING_KEY: randomBytes(32).toString('hex'),
  });
  written = await WrittenCluster.over(cluster.waybill);
  const pictures = process.env['WAYBILL_TEST_PICTURES'] ?? path.join(tmpdir(), `waybill-pictures-${process.pid}`);
  browser = await WebBrowser.open(cluster.waybill.api.url, pictures);
}

describe.skipIf(!hasChromium)('the web interface with access control (needs /usr/bin/chromium)', () => {
  beforeAll(start);
  afterAll(async () => {
    await browser?.close();
    await provider?.stop();
    await written?.stop();
    await cluster?.stop();
  });

  it('every right that a page asks for is the right to a route that exists', async () => {
    const { Routes } = await cluster.asked<{ Routes: string[] }>('GET', '/v1/waybill/rights');
    expect(Object.values(NEEDED_ROUTES).filter((route) => !Routes.includes(route))).toEqual([]);
  });

  it('a variable is written by the keyboard, shown when asked for, and changed only as it was read', async () => {
    const { page } = browser;
    await signIn(cluster.management);
    await page.goto('/ui/variables');
    await page.getByText('No variables').waitFor();
    await page.getByRole('link', { name: 'New variable' }).press('Enter');
    // The list has a field for paths as well.
    await page.getByRole('heading', { name: 'New variable', exact: true }).waitFor();
    await page.getByLabel('Path').fill('nomad/jobs/web');
    await button('Save').press('Enter');
    await page.getByText('Give every item a key.').waitFor();
    await page.getByLabel('Key 1').fill('password');
    await page.getByLabel('Value 1').fill('<b>secret</b>');
    expect(await browser.look('variable-new')).toEqual([]);
    expect(await browser.lookOnPhone('variable-new')).toBe(0);
    await button('Save').press('Enter');
    await page.getByRole('heading', { name: 'nomad/jobs/web', exact: true }).waitFor();
    expect(await page.getByText('<b>secret</b>').count()).toBe(0);
    await button('Show password').click();
    await page.getByLabel('Value of password').getByText('<b>secret</b>').waitFor();
    expect(await browser.look('variable')).toEqual([]);
    expect(await browser.lookOnPhone('variable')).toBe(0);
    await page.getByRole('link', { name: 'Edit' }).click();
    await page.getByLabel('Value 1').fill('mine');
    await writeVariable('nomad/jobs/web', { password: 'theirs' });
    await page.getByText('The variable has changed').waitFor();
    await button('Save').click();
    await page.getByText('Somebody else has changed this variable meanwhile.').waitFor();
    expect(await browser.look('variable-conflict')).toEqual([]);
    await button('Load the newest version').click();
    expect(await page.getByLabel('Value 1').inputValue()).toBe('theirs');
    await page.getByLabel('Value 1').fill('agreed');
    await button('Save').click();
    await button('Show password').click();
    await page.getByLabel('Value of password').getByText('agreed').waitFor();
  });

  it('variables are listed folder by folder, as they come and go', async () => {
    const { page } = browser;
    await writeVariable('nomad/jobs/web/db', { user: 'web' });
    await writeVariable('motd', { text: 'hello' });
    await page.goto('/ui/variables');
    const rows = page.getByRole('table', { name: 'Variables' }).getByRole('row');
    await rows.filter({ hasText: 'nomad/' }).getByText('2 variables').waitFor();
    await writeVariable('nomad/jobs/api', { user: 'api' });
    await rows.filter({ hasText: 'nomad/' }).getByText('3 variables').waitFor();
    expect(await browser.look('variables')).toEqual([]);
    await page.getByRole('link', { name: 'nomad/' }).click();
    await page.getByRole('link', { name: 'jobs/' }).click();
    expect(new URL(page.url()).search).toBe('?folder=nomad%2Fjobs%2F');
    await page.getByRole('link', { name: 'api', exact: true }).click();
    await confirm('Delete');
    await rows.filter({ hasText: 'nomad/' }).getByText('2 variables').waitFor();
    await page.getByLabel('Search by path').fill('DB');
    await page.getByRole('link', { name: 'nomad/jobs/web/db' }).waitFor();
  });

  it('a plugin and its volume, with the allocation that has claimed it', async () => {
    const { page } = browser;
    const [NodeID, AllocationID] = [uuid(0xaa), uuid(2)];
    const reports = {
      CSINodePlugins: { disks: aNodePlugin({ AllocID: AllocationID }) },
      CSIControllerPlugins: { disks: aControllerPlugin() },
    };
    const Node = aNode({ ID: NodeID, Name: 'store', ...reports });
    await written.write('NodeRegister', { Node, CreateNodePool: false });
    const volume = { ID: 'vol-01', Name: 'orders', PluginID: 'disks' };
    await written.write('CSIVolumeRegister', { Volumes: [aVolumeRegistration(volume)] });
    const Job = aJob({
      ID: 'db',
      TaskGroups: [aGroup({ Volumes: { data: aVolumeRequest({ Source: 'vol-01' }) } })],
    });
    const Eval = anEval({ JobID: 'db', Status: 'complete' });
    await written.write('JobRegister', aRegistration(Job, { Eval }));
    const AllocsUpdated = [anAlloc({ ID: AllocationID, NodeID, Job })];
    await written.write('ApplyPlanResults', aPlanResult({ Job, AllocsUpdated, EvalID: Eval.ID }));
    await page.goto('/ui/storage');
    await page.getByRole('table', { name: 'CSI plugins' }).getByRole('link', { name: 'disks' }).waitFor();
    expect(await browser.look('storage-csi')).toEqual([]);
    await page.getByRole('link', { name: 'orders' }).click();
    await page.getByText('No allocation uses the volume').waitFor();
    const Claim = aCSIClaim({ AllocationID, NodeID, Mode: 1 });
    await written.write('CSIVolumeClaim', { VolumeID: 'vol-01', Claim });
    const claims = page.getByRole('table', { name: 'Claims' });
    await claims.getByText('writes').waitFor();
    expect(await browser.look('csi-volume')).toEqual([]);
    expect(await browser.lookOnPhone('csi-volume')).toBe(0);
    await page.getByRole('link', { name: 'disks' }).click();
    await page.getByRole('table', { name: 'Machines' }).getByRole('link', { name: 'store' }).waitFor();
    expect(await browser.look('plugin')).toEqual([]);
  });

  it('a policy is written, its mistake named, and a token made that has it', async () => {
    const { page } = browser;
    await page.goto('/ui/access-control');
    await page.getByText('No policies').waitFor();
    await page.getByRole('link', { name: 'New policy' }).click();
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('developers');
    await page.getByLabel('Description').fill('Those who write the shop.');
    await page.getByLabel('Rules').fill('namespace "default" { policy = "rd" }');
    await button('Create the policy').click();
    await page
      .getByRole('alert')
      .getByText(/policy/)
      .waitFor();
    await page.getByLabel('Rules').fill('namespace "default" {\n  policy = "read"\n}');
    await button('Create the policy').press('Enter');
    await page.getByRole('heading', { name: 'developers', exact: true }).waitFor();
    await page.getByText('No token has it').waitFor();
    await page.goto('/ui/access-control/tokens/new');
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Ann');
    await page.getByLabel('Expires').selectOption('in a day');
    await page.getByLabel('developers').check();
    expect(await browser.look('token-new')).toEqual([]);
    await button('Create the token').click();
    await page.getByRole('heading', { name: 'Ann', exact: true }).waitFor();
    await button('Show the secret').click();
    const [ann] = (await cluster.asked<{ Name: string; AccessorID: string }[]>('GET', '/v1/acl/tokens')).filter(
      ({ Name }) => Name === 'Ann',
    );
    const { SecretID } = await cluster.asked<{ SecretID: string }>('GET', `/v1/acl/token/${ann?.AccessorID}`);
    await page.getByText(SecretID, { exact: true }).waitFor();
    expect(await browser.look('token')).toEqual([]);
    expect(await browser.lookOnPhone('token')).toBe(0);
    await page.getByRole('link', { name: 'developers', exact: true }).click();
    await page.getByRole('table', { name: 'Tokens' }).getByRole('link', { name: 'Ann' }).waitFor();
    expect(await browser.look('policy')).toEqual([]);
  });

  it('lists of access control change as they are changed elsewhere', async () => {
    const { page } = browser;
    await page.goto('/ui/access-control/tokens');
    const tokens = page.getByRole('table', { name: 'Tokens' });
    await tokens.getByRole('link', { name: 'Ann' }).waitFor();
    await cluster.token('robot', ['developers']);
    await tokens.getByRole('row').filter({ hasText: 'robot' }).getByText('developers').waitFor();
    expect(await browser.look('tokens')).toEqual([]);
    await page.getByLabel('Search by name, accessor or policy').fill('robot');
    await tokens.getByRole('link', { name: 'robot' }).click();
    await confirm('Delete');
    await tokens.getByRole('link', { name: 'Ann' }).waitFor();
    await tokens.getByRole('link', { name: 'robot' }).waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Roles' }).click();
    await page.getByText('No roles').waitFor();
    const role = { Name: 'team', Description: 'The shop', Policies: [{ Name: 'developers' }] };
    await cluster.asked('PUT', '/v1/acl/role', role);
    await page.getByRole('table', { name: 'Roles' }).getByRole('link', { name: 'team' }).click();
    await page.getByRole('link', { name: 'developers' }).waitFor();
    expect(await browser.look('role')).toEqual([]);
  });

  it('somebody signs in at a provider in the browser, and the code does not stay in the address', async () => {
    const { page } = browser;
    const origin = cluster.waybill.api.url;
    provider = await OpenIdProvider.start([`${origin}/ui/settings/tokens`]);
    await cluster.asked('PUT', '/v1/acl/auth-method', {
      Name: 'company',
      Type: 'OIDC',
      TokenLocality: 'local',
      MaxTokenTTL: '1h',
      Default: true,
      Config: {
        OIDCDiscoveryURL: provider.issuer,
        OIDCClientID: CLIENT_ID,
        OIDCClientSecret: CLIENT_SECRET,
        OIDCScopes: ['groups'],
        AllowedRedirectURIs: [`${origin}/ui/settings/tokens`],
        ListClaimMappings: { groups: 'groups' },
      },
    });
    const rule = {
      AuthMethod: 'company',
      BindType: 'policy',
      BindName: 'developers',
      Selector: '"admins" in list.groups',
    };
    await cluster.asked('PUT', '/v1/acl/binding-rule', rule);
    await page.goto('/ui/access-control/auth-methods/company');
    await page.getByText('"admins" in list.groups').waitFor();
    expect(await browser.look('auth-method')).toEqual([]);
    await page.goto('/ui/settings/tokens');
    await button('Sign out').click();
    await button('Sign in with company').waitFor();
    expect(await browser.look('sign-in-providers')).toEqual([]);
    await button('Sign in with company').click();
    await page.waitForURL(`${provider.issuer}/**`);
    await page.locator('input[name="login"]').fill('alice');
    await page.locator('input[name="password"]').fill('any');
    await page.locator('button[type="submit"]').click();
    await page.locator('input[name="prompt"][value="consent"]').waitFor({ state: 'attached' });
    await page.locator('button[type="submit"]').click();
    await button('Sign out').waitFor();
    await page.getByText('developers', { exact: true }).waitFor();
    expect(new URL(page.url()).search).toBe('');
  });

  it('a role is made, changed and deleted, and its texts are letters', async () => {
    const { page } = browser;
    await signIn(cluster.management);
    await page.goto('/ui/access-control/roles');
    await page.getByRole('link', { name: 'New role' }).press('Enter');
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('shop team');
    await button('Create the role').press('Enter');
    expect(await page.evaluate('document.querySelector("input[name=name]").validity.patternMismatch')).toBe(true);
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('shop-team');
    await page.getByLabel('Description').fill(HOSTILE);
    await page.getByLabel('developers').check();
    expect(await browser.look('role-new')).toEqual([]);
    expect(await browser.lookOnPhone('role-new')).toBe(0);
    await button('Create the role').press('Enter');
    await page.getByRole('heading', { name: 'shop-team', exact: true }).waitFor();
    await page.getByText(HOSTILE).waitFor();
    expect(await page.locator('main img').count()).toBe(0);
    await page.getByRole('link', { name: 'Edit' }).click();
    await page.getByLabel('Description').fill('Those of the shop');
    await button('Save').click();
    await page.getByText('Those of the shop').waitFor();
    await page.getByRole('link', { name: 'developers', exact: true }).waitFor();
    await confirm('Delete');
    const roles = page.getByRole('table', { name: 'Roles' });
    await roles.getByRole('link', { name: 'team', exact: true }).waitFor();
    await roles.getByRole('link', { name: 'shop-team' }).waitFor({ state: 'detached' });
  });

  it('an auth method and its rule are made in the pages, and a token of theirs signs in', async () => {
    const { page } = browser;
    if (!provider) throw new Error('the provider of the test above is missing');
    await page.goto('/ui/access-control/auth-methods');
    await page.getByRole('link', { name: 'New auth method' }).click();
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('ci');
    await page.getByLabel('Kind').selectOption('JWT');
    const configuration = page.getByRole('textbox', { name: 'Configuration' });
    await configuration.getByText('"JWKSURL"').waitFor();
    expect(await browser.look('auth-method-new')).toEqual([]);
    expect(await browser.lookOnPhone('auth-method-new')).toBe(0);
    const write = async (text: string): Promise<void> => {
      await configuration.press('Control+a');
      await page.keyboard.insertText(text);
      await button('Create the auth method').click();
    };
    await write('{ "JWKSURL": ');
    await page.getByText('The configuration is not JSON').waitFor();
    await write('{ "JWKSURL": "nowhere" }');
    await page.getByText('The server answered 400.').waitFor();
    const { issuer } = provider;
    const Config = { OIDCDiscoveryURL: issuer, BoundAudiences: ['waybill'], ClaimMappings: { project: 'project' } };
    await write(JSON.stringify(Config));
    await page.getByRole('heading', { name: 'ci', exact: true }).waitFor();
    await page.getByText('No rule: nobody gets a token').waitFor();
    await page.getByRole('link', { name: 'New rule' }).click();
    await page.getByLabel('Name of the policy').fill('developers');
    await page.getByLabel('To logins with').fill('value.project ==');
    await page.getByLabel('Description').fill(HOSTILE);
    await button('Create the rule').click();
    await page.getByRole('alert').waitFor();
    await page.getByLabel('To logins with').fill('value.project == "web"');
    expect(await browser.look('binding-rule-new')).toEqual([]);
    await button('Create the rule').click();
    const rules = page.getByRole('table', { name: 'Binding rules' });
    await rules.getByText(HOSTILE).waitFor();
    expect(await page.locator('main img').count()).toBe(0);
    expect(await browser.look('binding-rules')).toEqual([]);
    expect(await browser.lookOnPhone('binding-rules')).toBe(0);
    await rules.getByRole('link', { name: /^Edit the rule/ }).click();
    await page.getByLabel('To logins with').fill('value.project == "shop"');
    await button('Save').click();
    await rules.getByText('value.project == "shop"').waitFor();
    await page.goto('/ui/settings/tokens');
    await button('Sign out').click();
    await page.getByLabel('Signed token (JWT)').fill(await signedFor(provider, 'web'));
    await button('Sign in with the signed token').click();
    await page.getByRole('alert').waitFor();
    expect(await browser.look('sign-in-jwt')).toEqual([]);
    expect(await browser.lookOnPhone('sign-in-jwt')).toBe(0);
    await page.getByLabel('Signed token (JWT)').fill(await signedFor(provider, 'shop'));
    await page.keyboard.press('Enter');
    await button('Sign out').waitFor();
    await page.getByText('developers', { exact: true }).waitFor();
    expect(await page.evaluate('location.href + JSON.stringify(localStorage)')).not.toContain('eyJ');
  });

  it('roles, auth methods and rules are offered for change to nobody without the right', async () => {
    const { page } = browser;
    await page.goto('/ui/access-control/roles');
    // A token without management rights sees only its own roles.
    await page.getByText('No roles').waitFor();
    expect(await page.getByRole('link', { name: 'New role' }).count()).toBe(0);
    await page.getByRole('link', { name: 'Auth methods' }).click();
    await page.getByRole('table', { name: 'Auth methods' }).getByRole('link', { name: 'ci' }).waitFor();
    expect(await page.getByRole('link', { name: 'New auth method' }).count()).toBe(0);
    await page.getByRole('link', { name: 'ci', exact: true }).click();
    await page.getByText('This needs: a management token.').waitFor();
    await signIn(cluster.management);
    await page.goto('/ui/access-control/auth-methods/ci');
    const rules = page.getByRole('table', { name: 'Binding rules' });
    await rules.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No rule: nobody gets a token').waitFor();
    await confirm('Delete');
    await page.getByRole('table', { name: 'Auth methods' }).getByRole('link', { name: 'company' }).waitFor();
    expect(await page.getByRole('link', { name: 'ci', exact: true }).count()).toBe(0);
  });

  it('the topology draws every machine, and only the rows that are on the screen', async () => {
    const { page } = browser;
    await signIn(cluster.management);
    await written.write('NodeRegister', { Node: fullNode(0), CreateNodePool: false });
    await page.goto('/ui/topology?by=memory');
    const machines = page.getByRole('table', { name: 'Machines' });
    await machines.getByRole('link', { name: 'machine-000', exact: true }).waitFor();
    const others = Array.from({ length: MACHINES - 1 }, (_, at) => fullNode(at + 1));
    await Promise.all(others.map((Node) => written.write('NodeRegister', { Node, CreateNodePool: false })));
    await page
      .getByText(`${MACHINES / 2} machines, 0 % of`)
      .first()
      .waitFor();
    expect(await machines.getByRole('row').count()).toBeLessThan(60);
    expect(await browser.look('topology-many')).toEqual([]);
    await page.getByLabel('Datacenter').selectOption('dc-1');
    await page.getByText('50 machines', { exact: true }).waitFor();
    const map = page.getByRole('img', { name: /^Map of 50 machines in dc-1/ });
    await map.click({ position: { x: 5, y: 5 } });
    await page.getByRole('heading', { name: 'machine-001', exact: true }).waitFor();
  });

  it('what a token may not do is not offered, and changes are live for what it may see', async () => {
    const { page } = browser;
    const secret = await cluster.tokenWith(READER);
    await signIn(secret);
    await page.goto('/ui/variables');
    await page.getByRole('link', { name: 'nomad/' }).waitFor();
    expect(await page.getByRole('link', { name: 'motd' }).count()).toBe(0);
    await page.goto('/ui/variables/nomad%2Fjobs%2Fweb@default');
    await button('Show password').waitFor();
    expect(await page.getByRole('link', { name: 'Edit' }).count()).toBe(0);
    expect(await button('Delete').count()).toBe(0);
    await page.getByText('Live', { exact: true }).waitFor();
    await page.goto('/ui/jobs/db@default');
    await page.getByRole('heading', { name: 'db', exact: true }).waitFor();
    await page.getByRole('link', { name: 'Versions' }).waitFor();
    expect(await button('Stop').count()).toBe(0);
    await page.goto(`/ui/allocations/${uuid(2)}`);
    await page.getByRole('heading', { name: 'Tasks' }).waitFor();
    for (const name of ['Files', 'Terminal'])
      expect(await page.getByRole('link', { name, exact: true }).count()).toBe(0);
    await page.goto('/ui/jobs');
    await page.getByRole('link', { name: 'db', exact: true }).waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    await written.write('JobRegister', aRegistration(aJob({ ID: 'later' })));
    await page.getByRole('link', { name: 'later', exact: true }).waitFor();
    await page.goto('/ui/variables/motd@default');
    await page.getByText('Not allowed.').waitFor();
    await page.getByText('This needs: variable capability read.').waitFor();
    expect(await browser.look('not-allowed')).toEqual([]);
  });

  it('EV-49: changes are live for a token of one namespace, and those of another namespace stay unseen', async () => {
    const { page } = browser;
    await cluster.asked('PUT', '/v1/namespace', { Name: 'team' });
    await signIn(await cluster.tokenWith('namespace "team" { policy = "read" }'));
    await page.goto('/ui/jobs');
    await page.getByText('No jobs yet').waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    for (const [id, Namespace] of [
      ['of-others', 'default'],
      ['of-the-team', 'team'],
    ] as const)
      await cluster.asked('PUT', '/v1/jobs', { Job: { ...shellJob(id, 'true', { count: 0 }), Namespace } });
    await page.getByRole('link', { name: 'of-the-team', exact: true }).waitFor();
    expect(await page.getByText('of-others').count()).toBe(0);
    await page.goto('/ui/events');
    await page.getByRole('table', { name: 'Events' }).getByText('of-the-team').first().waitFor();
    expect(await page.getByText('of-others').count()).toBe(0);
    await signIn(await cluster.tokenWith('operator { policy = "read" }'));
    await page.getByText('Not live: your token may not read events.').waitFor();
    await button('Sign out').click();
    await page.getByText('Not live: sign in to see changes.').waitFor();
    expect(await browser.look('not-live')).toEqual([]);
  });
});
