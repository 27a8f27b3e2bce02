import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiClient, shellJob } from '../support/api-client.js';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';
import { hasChromium, WebBrowser } from '../support/web-browser.js';

/** The pages in a real browser, against a whole Waybill with a machine. */

/** Markup and script in a name, which must stay letters. */
const HOSTILE = `<img src=x onerror="document.title='owned'">`;

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

async function start(): Promise<void> {
  waybill = await WaybillProcesses.startTogether({}, undefined, ['api']);
  ({ api } = waybill);
  await eventually('the machine is ready', async () =>
    (await api.get<{ Status: string }[]>('/v1/nodes')).some(({ Status }) => Status === 'ready'),
  );
  await api.register(shellJob('web', 'exec sleep 1000', { count: 2 }));
  await api.register(stuckJob);
  await api.register({ ...shellJob('a/b', 'exec sleep 1000'), Name: HOSTILE, Meta: { note: HOSTILE } });
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
