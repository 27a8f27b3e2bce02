// `npm run ui:pictures`: makes the pictures of docs/ui.md from a real Waybill with jobs, in a real Chromium.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { chromium } from 'playwright-core';
import { root } from './source-tree.mjs';

const CHROMIUM = process.env.PICTURES_CHROMIUM ?? '/usr/bin/chromium';
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-background-networking'];
const FOLDER = path.join(root, 'docs/pictures');
const DEADLINE_MS = 120_000;
/** The limit of all pictures together, because readers load them with the page. */
const MOST_BYTES = 1_000_000;

/** A service with a shell as its task. @param {{ name: string, count: number, version?: number, more?: string }} of */
const service = ({ name, count, version = 1, more = '' }) => `job "${name}" {
  type = "service"

  group "web" {
    count = ${count}

    update {
      max_parallel     = 1
      canary           = 1
      min_healthy_time = "1s"
      health_check     = "task_states"
    }

    task "server" {
      driver = "raw_exec"
${more}
      config {
        command = "/bin/sh"
        args    = ["-c", "echo version ${version} of ${name} listens; exec sleep 100000"]
      }

      resources {
        cpu    = 50
        memory = 64
      }
    }
  }
}
`;

const SEARCH = `job "search" {
  group "index" {
    count = 2

    task "engine" {
      driver = "docker"

      config {
        image = "search:9"
      }

      resources {
        cpu    = 200
        memory = 256
      }
    }
  }
}
`;

const REPORT = `job "nightly-report" {
  type = "batch"

  periodic {
    crons     = ["0 3 * * *"]
    time_zone = "UTC"
  }

  group "report" {
    task "write" {
      driver = "raw_exec"

      config {
        command = "/bin/true"
      }
    }
  }
}
`;

/** The HTTP API of the Waybill that is looked at. */
class Api {
  /** @param {string} url */
  constructor(url) {
    this.url = url;
  }

  /** @param {string} method @param {string} address @param {unknown} [body] @returns {Promise<any>} */
  async ask(method, address, body) {
    const answer = await fetch(this.url + address, {
      method,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(`${method} ${address}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  }

  /** @param {string} Source */
  async register(Source) {
    const Job = await this.ask('POST', '/v1/jobs/parse', { JobHCL: Source, Canonicalize: true });
    await this.ask('PUT', '/v1/jobs', { Job, Submission: { Source, Format: 'hcl2' } });
  }

  /** @param {string} job @param {(deployment: any) => boolean} test */
  async deployment(job, test) {
    await until(`the rollout of ${job}`, async () => {
      const all = /** @type {any[]} */ (await this.ask('GET', `/v1/job/${job}/deployments`));
      return all.some(test);
    });
  }
}

/** @param {string} what @param {() => Promise<boolean>} condition */
async function until(what, condition) {
  const endMs = Date.now() + DEADLINE_MS;
  /** @type {unknown} */
  let last;
  while (Date.now() < endMs) {
    const isMet = await condition().catch((/** @type {unknown} */ error) => void (last = error));
    if (isMet === true) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`not within ${DEADLINE_MS / 1_000} s: ${what}`, { cause: last });
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  if (address === null || typeof address === 'string') throw new Error('the system gives no port');
  return address.port;
}

/** @param {Api} api */
async function fill(api) {
  await until('a machine', async () =>
    (await api.ask('GET', '/v1/nodes')).some((/** @type {{ Status: string }} */ { Status }) => Status === 'ready'),
  );
  await api.register(service({ name: 'shop', count: 3 }));
  await api.register(service({ name: 'mailer', count: 2 }));
  await api.register(SEARCH);
  await api.register(REPORT);
  for (const name of ['shop', 'mailer']) await api.deployment(name, ({ Status }) => Status === 'successful');
  await api.register(service({ name: 'shop', count: 3, version: 2 }));
  await api.deployment('shop', ({ JobVersion, TaskGroups }) => JobVersion === 1 && TaskGroups.web.HealthyAllocs === 1);
}

/** @param {Api} api @param {import('playwright-core').Page} page */
async function takePictures(api, page) {
  /** @param {string} name @param {'light' | 'dark'} colorScheme */
  const take = async (name, colorScheme = 'light') => {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await page.screenshot({ path: path.join(FOLDER, `${name}.png`) });
  };
  const rows = (/** @type {string} */ label) => page.getByRole('table', { name: label }).getByRole('row');

  await page.goto('/ui/jobs');
  await rows('Jobs').filter({ hasText: 'shop' }).waitFor();
  await take('jobs', 'dark');
  await page.goto('/ui/jobs/shop@default');
  await page.getByRole('button', { name: 'Promote' }).waitFor();
  await rows('Allocations').nth(1).waitFor();
  await take('job');
  await page.goto('/ui/jobs/search@default');
  await page.getByText('has no driver docker').waitFor();
  await take('why');
  const rollouts = /** @type {any[]} */ (await api.ask('GET', '/v1/job/shop/deployments'));
  await page.goto(`/ui/deployments/${rollouts.find(({ JobVersion }) => JobVersion === 0)?.ID}`);
  await rows('Where the time went').filter({ hasText: 'healthy' }).first().waitFor();
  const heading = page.getByRole('heading', { name: 'Where the time went' });
  await heading.evaluate((/** @type {{ scrollIntoView(): void }} */ element) => element.scrollIntoView());
  await take('rollout');
  await page.goto('/ui/jobs/run?job=shop@default');
  const editor = page.getByRole('textbox', { name: 'Job file' });
  await editor.getByText('canary').click();
  await page.keyboard.press('Home');
  await page.keyboard.type('canaries = 2 #');
  await page.keyboard.press('Control+Enter');
  await page.locator('.cm-lint-marker-error').waitFor();
  await take('editor');
  await page.goto('/ui/jobs/shop@default');
  await page.getByRole('link', { name: 'History' }).click();
  await rows('What changed').nth(1).waitFor();
  await take('history', 'dark');
}

async function main() {
  if (!existsSync(CHROMIUM))
    throw new Error(`no ${CHROMIUM}: install Debian's chromium, or name one in PICTURES_CHROMIUM`);
  mkdirSync(FOLDER, { recursive: true });
  const data = mkdtempSync(path.join(tmpdir(), 'waybill-pictures-'));
  const port = await freePort();
  const args = ['--port', String(port), '--data-dir', data, '--empty'];
  const waybill = spawn(process.execPath, [path.join(root, 'apps/dev/dist/main.js'), ...args], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = once(waybill, 'exit');
  try {
    const api = new Api(`http://127.0.0.1:${port}`);
    await fill(api);
    const browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS, timeout: DEADLINE_MS });
    try {
      const context = await browser.newContext({ baseURL: api.url, viewport: { width: 1280, height: 760 } });
      await takePictures(api, await context.newPage());
    } finally {
      await browser.close();
    }
  } finally {
    waybill.kill('SIGTERM');
    await ended;
    rmSync(data, { recursive: true, force: true });
  }
  const names = ['jobs', 'job', 'why', 'rollout', 'editor', 'history'];
  const bytes = names.reduce((sum, name) => sum + statSync(path.join(FOLDER, `${name}.png`)).size, 0);
  process.stdout.write(`${names.length} pictures in docs/pictures, ${Math.round(bytes / 1_000)} KB\n`);
  if (bytes > MOST_BYTES) throw new Error(`the pictures have ${bytes} bytes, more than ${MOST_BYTES}`);
}

await main();
