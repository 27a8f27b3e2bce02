import { tmpdir } from 'node:os';
import path from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiClient, shellJob } from '../support/api-client.js';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';
import { hasChromium, WebBrowser } from '../support/web-browser.js';

/** The pages in a real browser, against a whole Waybill with a machine. */

/** Markup and script in a name, which must stay letters. */
const HOSTILE = `<img src=x onerror="document.title='owned'">`;

/** Compressed script that the first page may need. */
const MOST_SCRIPT_BYTES = 250 * 1_024;

let waybill: WaybillProcesses;
let api: ApiClient;
let browser: WebBrowser;

const stuckJob = {
  ...shellJob('stuck', 'true', { count: 2 }),
  TaskGroups: [
    {
      Name: 'web',
      Count: 2,
      Tasks: [{ Name: 'server', Driver: 'docker', Config: { image: 'x' }, Resources: { CPU: 20, MemoryMB: 16 } }],
    },
  ],
};

/** A job whose every text that may be free is markup. */
function hostileJob(): object {
  const job = shellJob('a/b', 'echo "$LINE"; exec sleep 1000') as { TaskGroups: { Tasks: object[] }[] };
  const withLine = (task: object): object => ({ ...task, Env: { LINE: HOSTILE } });
  const TaskGroups = job.TaskGroups.map((group) => ({ ...group, Tasks: group.Tasks.map(withLine) }));
  return { ...job, TaskGroups, Name: HOSTILE, Meta: { note: HOSTILE } };
}

/** A service whose next version begins with a canary. */
function rolledOut(version: string): object {
  const job = shellJob('rolled-out', `echo version ${version}; exec sleep 1000`) as { TaskGroups: object[] };
  const Update = { MaxParallel: 1, Canary: 1, MinHealthyTime: 10_000_000, HealthCheck: 'task_states' };
  return { ...job, Update, TaskGroups: job.TaskGroups.map((group) => ({ ...group, Update })) };
}

/** A service of two groups, whose next version begins with a canary of each. */
function twoGroups(version: string): object {
  const { TaskGroups, ...job } = rolledOut(version) as { readonly TaskGroups: readonly object[] };
  return {
    ...job,
    ID: 'two-groups',
    TaskGroups: TaskGroups.flatMap((group) => ['first', 'second'].map((Name) => ({ ...group, Name }))),
  };
}

interface RunningAllocation {
  readonly ID: string;
  readonly ClientStatus: string;
  readonly TaskStates: Readonly<Record<string, { readonly Restarts: number }>>;
}

/** The groups of the latest rollout of a job. */
async function groupsOf(job: string) {
  const { TaskGroups } = await api.get<{ TaskGroups: Record<string, { HealthyAllocs: number; Promoted: boolean }> }>(
    `/v1/job/${job}/deployment`,
  );
  return Object.values(TaskGroups);
}

const MS = 1_000_000;

/** A service of Waybill's own, whose check passes. */
function offered(): object {
  const server = `require('http').createServer((_, answer) => answer.end('fine')).listen(process.env.NOMAD_PORT_http)`;
  const Checks = [{ Name: 'alive', Type: 'http', Path: '/', Interval: 1_000 * MS, Timeout: 1_000 * MS }];
  return {
    ...shellJob('offered', ''),
    TaskGroups: [
      {
        Name: 'web',
        Networks: [{ DynamicPorts: [{ Label: 'http' }] }],
        Services: [{ Name: 'shop', Provider: 'nomad', PortLabel: 'http', Tags: ['public', HOSTILE], Checks }],
        Tasks: [
          {
            Name: 'server',
            Driver: 'raw_exec',
            Config: { command: process.execPath, args: ['-e', server] },
            Resources: { CPU: 20, MemoryMB: 64 },
          },
        ],
      },
    ],
  };
}

const button = (name: string) => browser.page.getByRole('button', { name, exact: true });

const isRolledOut = async (job: string): Promise<boolean> =>
  (await api.get<{ Status: string }[]>(`/v1/job/${job}/deployments`)).some(({ Status }) => Status === 'successful');

/** Presses a button that asks first, and says yes. */
async function confirm(name: string): Promise<void> {
  await button(name).first().click();
  const dialog = browser.page.getByRole('dialog');
  await dialog.getByRole('button', { name, exact: true }).click();
  await dialog.waitFor({ state: 'detached' });
}

async function start(): Promise<void> {
  waybill = await WaybillProcesses.startTogether({}, undefined, ['api']);
  ({ api } = waybill);
  await eventually('the machine is ready', async () =>
    (await api.get<{ Status: string }[]>('/v1/nodes')).some(({ Status }) => Status === 'ready'),
  );
  await api.register(shellJob('web', 'exec sleep 1000', { count: 2 }));
  await api.register(stuckJob);
  await api.register(rolledOut('1'));
  await api.register(hostileJob());
  await api.register(offered());
  const pictures = process.env['WAYBILL_TEST_PICTURES'] ?? path.join(tmpdir(), `waybill-pictures-${process.pid}`);
  browser = await WebBrowser.open(api.url, pictures);
}

describe.skipIf(!hasChromium)('the web interface (needs /usr/bin/chromium)', () => {
  beforeAll(start);
  afterAll(async () => {
    await browser?.close();
    await waybill?.stop();
  });

  it('API-2: / leads to the pages, which nobody may frame and which run no inline code', async () => {
    const { page } = browser;
    await page.goto('/');
    await page.getByRole('heading', { name: 'Jobs' }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/ui/jobs');
    const bytes = await page.evaluate(
      `performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('.js')).reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`,
    );
    expect(Number(bytes)).toBeLessThan(MOST_SCRIPT_BYTES);
    const index = await api.raw('/ui/jobs');
    const policy = index.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain('unsafe');
    expect(index.headers.get('cache-control')).toBe('no-cache');
    const [, script = ''] = /src="([^"]+\.js)"/.exec(await index.text()) ?? [];
    const answer = await api.raw(script, { headers: { 'Accept-Encoding': 'gzip, br' } });
    expect(answer.headers.get('cache-control')).toContain('immutable');
    expect(answer.headers.get('content-encoding')).toBe('br');
    expect((await api.raw('/ui/assets/none.js')).status).toBe(404);
  });

  it('the list shows jobs as they change, and keeps its filters in the address', async () => {
    const { page } = browser;
    const rows = page.getByRole('table', { name: 'Jobs' }).getByRole('row');
    await rows.filter({ hasText: 'web' }).getByText('2 running').waitFor();
    expect(await browser.look('jobs')).toEqual([]);
    expect(await browser.lookOnPhone('jobs')).toBe(0);
    await api.register(shellJob('later', 'exec sleep 1000', { count: 0 }));
    await rows.filter({ hasText: 'later' }).waitFor();
    await page.getByLabel('Search by name').fill('we');
    await rows.filter({ hasText: 'later' }).waitFor({ state: 'detached' });
    await page.getByLabel('Kind').selectOption('service');
    expect(new URL(page.url()).search).toBe('?search=we&type=service');
    await page.reload();
    await rows.filter({ hasText: 'web' }).waitFor();
    expect(await rows.count()).toBe(2);
  });

  it("a job's page says in words why nothing runs", async () => {
    const { page } = browser;
    await page.goto('/ui/jobs/stuck');
    await page.getByText('The only machine has no driver docker.').waitFor();
    await page.getByText('2 allocations of group “web” have no place').waitFor();
    expect(await browser.look('job-stuck')).toEqual([]);
    await page.goto('/ui/jobs/web@default');
    await page.getByRole('table', { name: 'Allocations' }).getByText('running').first().waitFor();
    expect(await browser.look('job-web')).toEqual([]);
    expect(await browser.lookOnPhone('job-web')).toBe(0);
  });

  it('scales a job, stops it and starts it again, and shows what a version changed', async () => {
    const { page } = browser;
    await eventually('the first rollout is over, which keeps a job from being scaled', () => isRolledOut('web'));
    await button('Scale').click();
    expect(await browser.look('job-scale')).toEqual([]);
    await page.getByLabel('Count').fill('3');
    await page.getByRole('dialog').getByRole('button', { name: 'Scale', exact: true }).click();
    const groups = page.getByRole('table', { name: 'Groups' });
    await groups.getByRole('cell', { name: '3', exact: true }).nth(2).waitFor();
    await page.getByRole('link', { name: 'Versions' }).click();
    await page.getByText('Group group › Count').waitFor();
    expect(await browser.look('job-versions')).toEqual([]);
    await confirm('Stop');
    await page.getByText('stopped', { exact: true }).waitFor();
    await confirm('Start again');
    await page.getByRole('main').getByText('running', { exact: true }).first().waitFor();
  });

  it('an object is shown as it was, and two moments of it compared', async () => {
    const { page } = browser;
    await page.goto('/ui/jobs/web@default');
    await page.getByRole('link', { name: 'History' }).click();
    const transactions = page.getByRole('table', { name: 'Transactions' }).getByRole('row');
    await transactions.filter({ hasText: 'JobDeregister' }).waitFor();
    const registered = transactions.filter({ hasText: 'JobRegister' });
    await registered
      .last()
      .getByRole('radio', { name: /^Compare from/ })
      .check();
    const stopped = transactions.filter({ hasText: 'JobDeregister' });
    await stopped.getByRole('radio', { name: /^Compare to/ }).press('Space');
    const differences = page.getByRole('table', { name: 'What changed' }).getByRole('row');
    const count = differences.filter({ hasText: 'TaskGroups › 0 › Count' });
    await count.getByRole('cell', { name: '2', exact: true }).waitFor();
    await count.getByRole('cell', { name: '3', exact: true }).waitFor();
    await differences.filter({ hasText: 'Stop' }).getByText('true').waitFor();
    expect(await browser.look('history')).toEqual([]);
    expect(await browser.lookOnPhone('history')).toBe(0);
    const address = page.url();
    await page.reload();
    await count.waitFor();
    expect(page.url()).toBe(address);
    expect(new URL(address).searchParams.get('to')).toMatch(/^\d+$/);
  });

  it('a rollout is followed to its canary and promoted', async () => {
    const { page } = browser;
    await eventually('the first version is healthy', () => isRolledOut('rolled-out'));
    await page.goto('/ui/jobs/rolled-out@default');
    await api.register(rolledOut('2'));
    await button('Promote').waitFor();
    await eventually('the canary is healthy', async () => (await groupsOf('rolled-out'))[0]?.HealthyAllocs === 1);
    expect(await browser.look('job-rollout')).toEqual([]);
    await confirm('Promote');
    await page.getByRole('link', { name: 'Deployments' }).last().click();
    await page.getByText('successful').nth(1).waitFor();
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Deployments' }).click();
    await page.getByRole('table', { name: 'Deployments' }).getByRole('link').first().waitFor();
    expect(await browser.look('deployments')).toEqual([]);
    await page.getByRole('table', { name: 'Deployments' }).getByRole('link').first().click();
    await page.getByText('Version 1 of rolled-out').waitFor();
    const steps = page.getByRole('table', { name: 'Where the time went' }).getByRole('row');
    await steps.filter({ hasText: 'submitted' }).first().waitFor();
    await steps.filter({ hasText: 'healthy' }).first().waitFor();
    expect(await browser.look('deployment')).toEqual([]);
  });

  it('an allocation shows its tasks, their events and their output as letters', async () => {
    const { page } = browser;
    await page.goto('/ui/jobs/a%2Fb@default');
    await page.getByRole('table', { name: 'Allocations' }).getByRole('link').first().click();
    await page.getByLabel('Output of task, stdout').getByText(HOSTILE).waitFor();
    await page.getByRole('table', { name: 'Task events' }).getByText('Started', { exact: true }).waitFor();
    await page
      .getByRole('figure', { name: 'Memory' })
      .getByText(/^task [\d.]+ [KM]iB of 16 MiB$/)
      .waitFor();
    await page
      .getByRole('figure', { name: 'CPU' })
      .getByText(/^task \d+ MHz of 20 MHz$/)
      .waitFor();
    expect(await page.locator('main img').count()).toBe(0);
    expect(await browser.look('allocation')).toEqual([]);
    expect(await browser.lookOnPhone('allocation')).toBe(0);
    const steps = page.getByRole('table', { name: 'From submission to health' }).getByRole('row');
    for (const step of ['submitted', 'plan committed', 'received', 'started', 'healthy'])
      await steps.filter({ hasText: step }).first().waitFor();
    await steps.last().scrollIntoViewIfNeeded();
    expect(await browser.look('allocation-waterfall')).toEqual([]);
    await page.getByLabel('Stream').selectOption('stderr');
    expect(new URL(page.url()).search).toContain('stream=stderr');
    await button('Restart').first().click();
    await page.getByRole('dialog').getByRole('button', { name: 'Restart' }).click();
    await page.getByRole('table', { name: 'Task events' }).getByText('Restart Signaled').waitFor();
  });

  it('a job is restarted in batches, and allocations are replaced one after the other', async () => {
    const { page } = browser;
    await page.goto('/ui/jobs/web@default');
    const dialog = page.getByRole('dialog');
    const running = async () =>
      (await api.get<RunningAllocation[]>('/v1/job/web/allocations')).filter(
        ({ ClientStatus }) => ClientStatus === 'running',
      );
    await eventually('no rollout is under way', async () =>
      (await api.get<{ Status: string }[]>('/v1/job/web/deployments')).every(({ Status }) => Status !== 'running'),
    );
    const before = await running();
    const all = `Done: ${before.length} of ${before.length} allocations`;
    const restart = async (how: string, size: string): Promise<void> => {
      await button('Restart').click();
      await dialog.getByLabel('How').selectOption(how);
      await dialog.getByLabel('Allocations at a time').fill(size);
      await dialog.getByRole('button', { name: 'Restart' }).click();
      await dialog.getByText(all).waitFor();
    };
    await restart('restart', '100%');
    expect(await browser.look('job-restarted')).toEqual([]);
    await dialog.getByRole('button', { name: 'Close' }).click();
    await eventually('each task was restarted once', async () =>
      (await running()).every(({ TaskStates }) => TaskStates['task']?.Restarts === 1),
    );
    expect((await running()).map(({ ID }) => ID).toSorted()).toEqual(before.map(({ ID }) => ID).toSorted());
    await restart('replace', '1');
    await dialog.getByRole('button', { name: 'Close' }).click();
    const after = (await running()).map(({ ID }) => ID);
    expect(after).toHaveLength(before.length);
    expect(before.filter(({ ID }) => after.includes(ID))).toEqual([]);
  });

  it('the canaries of one group are promoted by themselves', async () => {
    const { page } = browser;
    await api.register(twoGroups('1'));
    await eventually('the first version is healthy', () => isRolledOut('two-groups'));
    await api.register(twoGroups('2'));
    await eventually('the canaries are healthy', async () =>
      (await groupsOf('two-groups')).every(({ HealthyAllocs }) => HealthyAllocs === 1),
    );
    await page.goto('/ui/jobs/two-groups@default');
    const row = page.getByRole('table', { name: 'Groups of the deployment' }).getByRole('row', { name: /^second/ });
    await row.getByRole('button', { name: 'Promote' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Promote' }).click();
    await row.getByText('1, promoted', { exact: true }).waitFor();
    expect((await groupsOf('two-groups')).map(({ Promoted }) => Promoted)).toEqual([false, true]);
    await api.stop('two-groups', true);
  });

  it('pages are reached by the keyboard, and letters of a job file stay letters', async () => {
    const { page } = browser;
    await page.goto('/ui/jobs');
    await page.getByRole('heading', { name: 'Jobs' }).waitFor();
    await page.keyboard.type('gm');
    await page.getByRole('heading', { name: 'Machines' }).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('gj?');
    await page.getByRole('searchbox').and(page.locator('[value="gj?"]')).waitFor();
    await page.getByRole('searchbox').blur();
    await page.keyboard.press('?');
    await page.getByRole('dialog').getByText('Control plane').waitFor();
    expect(await browser.look('shortcuts')).toEqual([]);
    await page.keyboard.press('Escape');
    await page.goto('/ui/jobs/run');
    await page.getByRole('textbox', { name: 'Job file' }).click();
    await page.keyboard.type('gj?');
    await page.getByRole('textbox', { name: 'Job file' }).getByText('gj?').first().waitFor();
    expect(new URL(page.url()).pathname).toBe('/ui/jobs/run');
  });

  it('the files of an allocation are browsed, read as letters and downloaded', async () => {
    const { page } = browser;
    await page.goto('/ui/jobs/a%2Fb@default');
    await page.getByRole('table', { name: 'Allocations' }).getByRole('link').first().click();
    await page.getByRole('link', { name: 'Files', exact: true }).click();
    for (const directory of ['alloc/', 'logs/']) await page.getByRole('link', { name: directory, exact: true }).click();
    await page.getByRole('link', { name: 'task.stdout.0', exact: true }).press('Enter');
    await page.getByLabel('Content of task.stdout.0').getByText(HOSTILE).first().waitFor();
    expect(await page.locator('main img').count()).toBe(0);
    expect(new URL(page.url()).search).toBe('?path=%2Falloc%2Flogs&file=task.stdout.0');
    expect(await browser.look('files')).toEqual([]);
    expect(await browser.lookOnPhone('files')).toBe(0);
    const [saved] = await Promise.all([page.waitForEvent('download'), button('Download').click()]);
    expect(saved.suggestedFilename()).toBe('task.stdout.0');
    expect(await textOf(await saved.createReadStream())).toContain(HOSTILE);
  });

  it('AG-320: a terminal in a task takes what is typed, and says how the command ended', async () => {
    const { page } = browser;
    await page.goto('/ui/jobs/web@default');
    await page.getByRole('table', { name: 'Allocations' }).getByRole('link').first().click();
    await page.getByRole('link', { name: 'Terminal', exact: true }).click();
    await button('Start').press('Enter');
    const screen = page.getByRole('region', { name: 'Terminal in task' });
    await screen.getByRole('textbox', { name: 'Terminal input' }).waitFor();
    await page.keyboard.type('printf "\\033[31m%s\\033[0m\\n" $((6 * 7))answer; tty\n');
    await screen.getByText('42answer').first().waitFor();
    await screen.getByText('/dev/pts/').first().waitFor();
    expect(await browser.look('terminal')).toEqual([]);
    expect(await browser.lookOnPhone('terminal')).toBe(0);
    await page.keyboard.press('F6');
    expect(await page.evaluate('document.activeElement.tagName')).toBe('BODY');
    await screen.getByRole('textbox', { name: 'Terminal input' }).focus();
    await page.keyboard.type('exit 3\n');
    await page.getByText('The command has ended with code 3.').waitFor();
  });

  it('machines: their states, and work kept away from one', async () => {
    const { page } = browser;
    await page.goto('/ui/clients');
    await page.getByRole('link', { name: 'test-node' }).waitFor();
    expect(await browser.look('clients')).toEqual([]);
    await page.getByRole('link', { name: 'test-node' }).click();
    await confirm('Mark ineligible');
    await page.getByText('ineligible').first().waitFor();
    await page
      .getByRole('figure', { name: 'Memory' })
      .getByText(/^in use [\d.]+ GiB of/)
      .waitFor();
    expect(await browser.look('client')).toEqual([]);
    expect(await browser.lookOnPhone('client')).toBe(0);
    await confirm('Mark eligible');
    await page.getByText('ready', { exact: true }).waitFor();
  });

  it('the topology shows what is given to allocations, as they come and go', async () => {
    const { page } = browser;
    await page.goto('/ui/topology?by=cpu');
    const machine = page.getByRole('table', { name: 'Machines' }).getByRole('row').filter({ hasText: 'test-node' });
    await machine.waitFor();
    const words = await machine.getByText(/allocations?$/).textContent();
    const before = Number.parseInt(words ?? '', 10);
    await api.register(shellJob('placed', 'exec sleep 1000', { count: 2 }));
    await machine.getByText(`${before + 2} allocations`).waitFor();
    await page.getByLabel('Search by machine or job').fill('placed');
    expect(await browser.look('topology')).toEqual([]);
    expect(await browser.lookOnPhone('topology')).toBe(0);
    await api.stop('placed');
    await page.getByText('No machine matches').waitFor();
  });

  it('evaluations say why they wait, and the sign-in page is there', async () => {
    const { page } = browser;
    await page.goto('/ui/evaluations?status=blocked');
    const blocked = page.getByRole('table', { name: 'Evaluations' }).getByRole('row').filter({ hasText: 'stuck' });
    await blocked.getByText('Waits for room').waitFor();
    expect(await browser.look('evaluations')).toEqual([]);
    await blocked.getByRole('link').first().click();
    await page.getByRole('heading', { name: /^Evaluation / }).waitFor();
    expect(await browser.look('evaluation')).toEqual([]);
    await page.goto('/ui/settings/tokens');
    await page.getByLabel('Secret of the token').waitFor();
    expect(await browser.look('sign-in')).toEqual([]);
  });

  it('a job file is planned, its wrong place marked, and run once it was planned', async () => {
    const { page } = browser;
    await page.goto('/ui/jobs/run?example=hello');
    const editor = page.getByRole('textbox', { name: 'Job file' });
    const lines = editor.locator('.cm-line');
    await lines.filter({ hasText: 'raw_exec' }).waitFor();
    const typeOver = async (text: string): Promise<void> => {
      await editor.press('Control+a');
      await page.keyboard.insertText(text);
    };
    const example = (await lines.allTextContents()).join('\n');
    expect(example).toContain('driver = "raw_exec"');
    expect(await lines.filter({ hasText: 'job "hello"' }).locator('span').first().textContent()).toBe('job');
    await typeOver(example.replace('  type = "service"', '  typ = "service"'));
    await button('Plan').click();
    await page.getByRole('alert').waitFor();
    await page.locator('.cm-lint-marker-error').waitFor();
    expect(await editor.locator('.cm-lintRange-error').textContent()).toBe('typ');
    expect(await page.evaluate('document.activeElement.shadowRoot.activeElement.ariaLabel')).toBe('Job file');
    await page.locator('.cm-lint-marker-error').hover();
    await page.locator('.cm-tooltip').getByText('Unsupported argument').waitFor();
    expect(await browser.look('run-wrong')).toEqual([]);
    await typeOver(example);
    await page.locator('.cm-lint-marker-error').waitFor({ state: 'detached' });
    await editor.press('Control+Enter');
    await page.getByText('Group greeter: 2 placed').waitFor();
    expect(await browser.look('run')).toEqual([]);
    expect(await browser.lookOnPhone('run')).toBe(0);
    await button('Run').click();
    await page.getByRole('heading', { name: 'hello', exact: true }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/ui/jobs/hello@default');
    await page.getByRole('link', { name: 'Definition' }).click();
    await page.getByRole('textbox', { name: 'Definition' }).getByText('# A service that says hello, twice.').waitFor();
    expect(await browser.look('job-definition')).toEqual([]);
  });

  it('the file of a job is changed by the keyboard alone, with a variable, and stays when the job changes', async () => {
    const { page } = browser;
    await page.goto('/ui/jobs/hello@default/definition');
    await page.getByRole('link', { name: 'Edit', exact: true }).press('Enter');
    const editor = page.getByRole('textbox', { name: 'Job file' });
    await editor.focus();
    await page.keyboard.press('Control+Home');
    await page.keyboard.type('variable "place" {\ntype = string\n}\n');
    expect(await editor.locator('.cm-line').nth(1).textContent()).toBe('  type = string');
    await page.keyboard.press('Control+End');
    await page.keyboard.press('Tab');
    expect(await editor.locator('.cm-line').last().textContent()).toBe('  ');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Variables of the job file');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    await page.keyboard.type('place = ');
    await page.keyboard.press('Control+Enter');
    await page.getByRole('alert').getByText('unable to parse var content').waitFor();
    const variables = page.getByRole('textbox', { name: 'Variables' });
    await variables.locator('.cm-lintRange-error').waitFor();
    await page.keyboard.press('Control+End');
    await page.keyboard.type('"here"');
    await eventually('the first rollout is over, which keeps a job from being scaled', () => isRolledOut('hello'));
    await api.raw('/v1/job/hello/scale', {
      method: 'PUT',
      body: JSON.stringify({ Count: 1, Target: { Group: 'greeter' } }),
    });
    await page.getByText('The job has changed to version 1').waitFor();
    expect(await variables.locator('.cm-line').first().textContent()).toBe('place = "here"');
    expect(await browser.look('job-edit')).toEqual([]);
    await page.keyboard.press('Control+Enter');
    await page.getByRole('heading', { name: 'What would change' }).waitFor();
    await button('Run').click();
    await page.getByRole('heading', { name: 'hello', exact: true }).waitFor();
    await page.getByRole('link', { name: 'Definition' }).click();
    await page.getByRole('textbox', { name: 'Variables' }).getByText('place = "here"').waitFor();
  });

  it('Ctrl K finds a job and a machine by the keyboard alone', async () => {
    const { page } = browser;
    const find = async (text: string): Promise<void> => {
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox', { name: 'Search by name or ID' }).waitFor();
      await page.keyboard.type(text);
    };
    await find('rolled');
    await page
      .getByRole('option', { name: /rolled-out/ })
      .first()
      .waitFor();
    expect(await browser.look('search')).toEqual([]);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'rolled-out', exact: true }).waitFor();
    await find('test-no');
    await page.getByRole('option', { name: /Machine/ }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'test-node', exact: true }).waitFor();
  });

  it('events are shown as they happen, and what each says', async () => {
    const { page } = browser;
    await page.goto('/ui/events?topic=Job');
    const rows = page.getByRole('table', { name: 'Events' }).getByRole('row');
    await rows.filter({ hasText: 'rolled-out' }).first().waitFor();
    await api.register(shellJob('told', 'exec sleep 1000', { count: 0 }));
    await rows.filter({ hasText: 'told' }).getByRole('link').first().click();
    await page.getByLabel('What the event says').getByText('"ID": "told"').waitFor();
    expect(await browser.look('events')).toEqual([]);
  });

  it('services: where an instance can be reached, what its checks say, and that it is gone', async () => {
    const { page } = browser;
    await page.goto('/ui/services?search=sho');
    const services = page.getByRole('table', { name: 'Services' });
    await services.getByText(HOSTILE).waitFor();
    expect(await page.locator('main img').count()).toBe(0);
    expect(await browser.look('services')).toEqual([]);
    await services.getByRole('link', { name: 'shop', exact: true }).click();
    const checks = page.getByRole('table', { name: 'Checks' });
    await checks.getByText('200 nomad: http ok').waitFor();
    await page.getByRole('table', { name: 'Instances' }).getByText('passing').waitFor();
    expect(await browser.look('service')).toEqual([]);
    expect(await browser.lookOnPhone('service')).toBe(0);
    await api.stop('offered');
    await page.getByText('No instance runs').waitFor();
  });

  it('storage: a volume of a machine, as it is made and deleted', async () => {
    const { page } = browser;
    await page.goto('/ui/storage');
    await page.getByText('No volumes').waitFor();
    const RequestedCapabilities = [{ AccessMode: 'single-node-writer', AttachmentMode: 'file-system' }];
    const Volume = { Name: 'notes', PluginID: 'mkdir', RequestedCapabilities };
    await api.raw('/v1/volume/host/create', { method: 'PUT', body: JSON.stringify({ Volume }) });
    const row = page.getByRole('table', { name: 'Volumes' }).getByRole('row').filter({ hasText: 'notes' });
    await row.getByText('ready').waitFor();
    expect(await browser.look('storage')).toEqual([]);
    await row.getByRole('link', { name: 'notes' }).click();
    await page.getByText('single-node-writer').waitFor();
    expect(await browser.look('host-volume')).toEqual([]);
    await confirm('Delete');
    await page.getByText('No volumes').waitFor();
  });

  it('a pause of scheduling stands on every page, and ends', async () => {
    const { page } = browser;
    await page.goto('/ui/servers');
    const roles = page.getByRole('table', { name: 'Roles' }).getByRole('row');
    await roles.filter({ hasText: 'broker' }).getByText('held', { exact: true }).waitFor();
    await page.getByText('Waiting for room').waitFor();
    expect(await browser.look('servers')).toEqual([]);
    expect(await browser.lookOnPhone('servers')).toBe(0);
    await confirm('Pause scheduling');
    await page.getByText('Scheduling is paused.').waitFor();
    expect(await browser.look('servers-paused')).toEqual([]);
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Jobs' }).click();
    await page.getByText('Scheduling is paused.').waitFor();
    const { SchedulerConfig } = await api.get<{ SchedulerConfig: object }>('/v1/operator/scheduler/configuration');
    const body = JSON.stringify({ ...SchedulerConfig, PauseEvalBroker: false });
    await api.raw('/v1/operator/scheduler/configuration', { method: 'PUT', body });
    await page.getByText('Scheduling is paused.').waitFor({ state: 'detached' });
  });

  it('a name with markup is letters, and an ID with a slash is found', async () => {
    const { page } = browser;
    await page.goto('/ui/jobs/a%2Fb@default');
    await page.getByRole('heading', { name: HOSTILE, exact: true }).waitFor();
    expect(await page.title()).toBe(`${HOSTILE} – Waybill`);
    expect(await page.locator('main img').count()).toBe(0);
  });

  it('a page goes on with what happened while the API was away', async () => {
    const { page } = browser;
    await page.goto('/ui/jobs');
    await page.getByText('Live', { exact: true }).waitFor();
    await waybill.kill('api');
    await page.getByText('Reconnecting').waitFor();
    await waybill.startService('api');
    await api.register(shellJob('meanwhile', 'exec sleep 1000', { count: 0 }));
    await page.getByRole('link', { name: 'meanwhile' }).waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
  });

  it('nothing broke the policy or threw', () => {
    // That the API was away shows in the console as requests that failed.
    expect(browser.complaints.filter((text) => !text.includes('Failed to load resource'))).toEqual([]);
  });
});
