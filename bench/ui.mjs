// The web pages in a real Chromium: how soon they can be used, a list of 10,000 allocations, and 100 changes a second on it.
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { freePort } from '@waybill/embedded';
import { fixtures } from '@waybill/state';
import { chromium } from 'playwright-core';
import { publisher } from './evaluation-load.mjs';
import { percentile } from './harness.mjs';
import { Client } from './http-client.mjs';
import { ServiceProcesses, until } from './processes.mjs';

export const describe = 'the web pages in Chromium: first page, 10,000 allocations, 100 changes a second on them';

/** @typedef {ReturnType<typeof fixtures.anAlloc>} Alloc */

const CHROMIUM = process.env.BENCH_CHROMIUM ?? '/usr/bin/chromium';
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-background-networking'];
const ALLOCS = 10_000;
/** Allocations of one transaction. */
const BATCH = 250;
const CHANGES_PER_SECOND = 100;
/** How long the changes last, s. The goal of flat memory is for ten minutes: BENCH_UI_SECONDS=600. */
const SECONDS = Number(process.env.BENCH_UI_SECONDS ?? 60);
/** Before the frames count, s: code is compiled, and the heap has grown to its size. */
const SETTLE_SECONDS = 10;
/** Between two changes of the row that is looked at, ms: more than a change takes, so that none is skipped. */
const PROBE_MS = 500;
const JOB = 'big';
const DEADLINE_MS = 60_000;

/** @param {import('./harness.mjs').Bench} ctx */
export async function run(ctx) {
  if (!existsSync(CHROMIUM))
    throw new Error(`no ${CHROMIUM}: install Debian's chromium, or name one in BENCH_CHROMIUM`);
  const processes = await ServiceProcesses.start(ctx);
  const port = await freePort();
  await processes.add('projector');
  await processes.add('api', 'api', { WAYBILL_HTTP_PORT: String(port), WAYBILL_HTTP_MAX_CONNS_PER_CLIENT: '0' });
  const publish = publisher(processes.journal);
  ctx.log(`a job with ${ALLOCS} allocations`);
  const allocs = await bigJob(publish);
  const client = new Client(port);
  ctx.onEnd(() => client.stop());
  await until('they are projected', async () => {
    const read = JSON.parse((await client.ask(`/v1/job/${JOB}/allocations`)).toString());
    return read.length === ALLOCS;
  });
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS, timeout: DEADLINE_MS });
  ctx.onEnd(() => browser.close());
  const baseURL = `http://127.0.0.1:${port}`;

  let scriptKb = 0;
  await ctx.measure('firstUsableMs', { unit: 'ms', goal: { below: 1_000 } }, async () => {
    const { page, shownMs } = await opened(
      browser,
      baseURL,
      '/ui/jobs',
      `[role="row"] a[href="/ui/jobs/${JOB}@default"]`,
    );
    scriptKb = (await scriptBytes(page)) / 1_024;
    await page.context().close();
    return shownMs;
  });
  ctx.metric('firstScriptKb', scriptKb, { unit: 'KB', goal: { below: 250 } });
  const address = `/ui/jobs/${JOB}@default`;
  const row = '[aria-label="Allocations"] [role="row"] a[href^="/ui/allocations/"]';
  await ctx.measure('bigListMs', { unit: 'ms', goal: { below: 1_500 } }, async () => {
    const { page, shownMs } = await opened(browser, baseURL, address, row);
    await page.context().close();
    return shownMs;
  });

  const { page } = await opened(browser, baseURL, address, row);
  await page.getByText('Live', { exact: true }).waitFor();
  await underChanges(ctx, { page, publish, allocs });
  ctx.note(
    `${ALLOCS} allocations of one job; ${CHANGES_PER_SECOND} changes a second for ${SECONDS} s, each one transaction`,
  );
  ctx.note('browser, servers and the writer of the changes share the cores; no graphics processor');
  ctx.note('firstUsableMs, bigListMs: a browser without cache, until the rows are there and the next frame is drawn');
  ctx.note(
    'longestTaskMs: the longest task of the page itself; a frame may be late because another process has the cores',
  );
}

/** @param {ReturnType<typeof publisher>} publish */
async function bigJob(publish) {
  const job = fixtures.aJob({ ID: JOB });
  const Eval = fixtures.anEval({ JobID: JOB, Status: 'complete' });
  const { index } = await publish('JobRegister', { ...fixtures.aRegistration(job), Eval });
  const stored = { ...job, CreateIndex: index, ModifyIndex: index, JobModifyIndex: index };
  const NodeIDs = Array.from({ length: 100 }, () => randomUUID());
  const allocs = Array.from({ length: ALLOCS }, (_, n) =>
    fixtures.anAlloc({
      ID: randomUUID(),
      JobID: JOB,
      EvalID: Eval.ID,
      Job: stored,
      Name: `${JOB}.web[${n}]`,
      NodeID: NodeIDs[n % NodeIDs.length],
      ClientStatus: 'running',
    }),
  );
  for (let at = 0; at < allocs.length; at += BATCH) {
    const AllocsUpdated = allocs.slice(at, at + BATCH);
    await publish('ApplyPlanResults', fixtures.aPlanResult({ Job: stored, EvalID: Eval.ID, AllocsUpdated }));
  }
  return allocs;
}

/**
 * Opens a page in a new browser context, which has no cache.
 *
 * @param {import('playwright-core').Browser} browser
 * @param {string} baseURL
 * @param {string} address
 * @param {string} selector of what makes the page usable
 */
async function opened(browser, baseURL, address, selector) {
  const context = await browser.newContext({ baseURL, viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  page.setDefaultTimeout(DEADLINE_MS);
  await page.addInitScript(`
    globalThis.shown = new Promise((resolve) => {
      const look = () => {
        if (!document.querySelector(${JSON.stringify(selector)})) return false;
        // The frame after the next: the one with the rows has been drawn, and the page answers again.
        requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now())));
        return true;
      };
      const observer = new MutationObserver(() => look() && observer.disconnect());
      observer.observe(document, { childList: true, subtree: true });
    });`);
  await page.goto(address);
  return { page, shownMs: Number(await page.evaluate('shown')) };
}

/** Compressed bytes of the script that the page has loaded. @param {import('playwright-core').Page} page */
const scriptBytes = async (page) =>
  Number(
    await page.evaluate(`performance.getEntriesByType('resource')
      .filter(({ name }) => name.endsWith('.js')).reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`),
  );

/** Notes frames, tasks and the states of one row, each with its time. @param {string} id */
const NOTES = (id) => `(() => {
  const notes = { frames: [], tasks: [], states: [] };
  globalThis.notes = notes;
  let before = performance.now();
  const frame = (now) => { notes.frames.push(now - before); before = now; requestAnimationFrame(frame); };
  requestAnimationFrame(frame);
  new PerformanceObserver((list) => list.getEntries().forEach(({ duration }) => notes.tasks.push(duration)))
    .observe({ type: 'longtask' });
  let state = '';
  const look = () => {
    const link = document.querySelector('[role="row"] a[href="/ui/allocations/${id}"]');
    const text = link?.closest('[role="row"]').children[2].textContent ?? '';
    if (text !== state) { state = text; requestAnimationFrame(() => notes.states.push([text, Date.now()])); }
  };
  new MutationObserver(look).observe(document.querySelector('main'), { childList: true, subtree: true, characterData: true });
})()`;

/**
 * @param {import('./harness.mjs').Bench} ctx
 * @param {{ page: import('playwright-core').Page, publish: ReturnType<typeof publisher>, allocs: Alloc[] }} on
 */
async function underChanges(ctx, { page, publish, allocs }) {
  const first = page.locator('[aria-label="Allocations"] [role="row"] a[href^="/ui/allocations/"]').first();
  const watched = (await first.getAttribute('href'))?.split('/').at(-1) ?? '';
  await page.evaluate(NOTES(watched));
  const changes = steadyChanges(publish, allocs, watched);
  await pause(SETTLE_SECONDS);
  const before = await heapBytes(page);
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const busyBefore = await busySeconds(session);
  await page.evaluate('notes.frames.length = 0; notes.tasks.length = 0');
  ctx.log(`${CHANGES_PER_SECOND} changes a second for ${SECONDS} s`);
  const began = performance.now();
  await pause(SECONDS);
  const notes = /** @type {{ frames: number[], tasks: number[], states: [string, number][] }} */ (
    await page.evaluate('notes')
  );
  const busy = (await busySeconds(session)) - busyBefore;
  const growth = (await heapBytes(page)) - before;
  const seconds = (performance.now() - began) / 1_000;
  const { probes } = await changes.stop();
  const lags = lagsOf(probes, notes.states);
  ctx.metric('longestFrameMs', Math.max(...notes.frames), { unit: 'ms', goal: { below: 50 } });
  ctx.metric('frameP99Ms', percentile(notes.frames, 99), { unit: 'ms' });
  ctx.metric('framesPerSecond', notes.frames.length / seconds, { unit: '/s' });
  ctx.metric('longestTaskMs', Math.max(0, ...notes.tasks), { unit: 'ms' });
  ctx.metric('pageBusyShare', busy / seconds);
  ctx.metric('heapGrowthMb', growth / 2 ** 20, { unit: 'MB', goal: { below: 5 } });
  ctx.metric('changeToScreenP95Ms', percentile(lags, 95), { unit: 'ms', goal: { below: 100 } });
  ctx.metric('changeToScreenP50Ms', percentile(lags, 50), { unit: 'ms' });
}

/**
 * Milliseconds from each commit to the screen. A change that the next one has overtaken took at least the time between
 * the two.
 *
 * @param {{ state: string, atMs: number }[]} probes
 * @param {[string, number][]} states
 */
function lagsOf(probes, states) {
  return probes.slice(0, -1).map(({ state, atMs }, at) => {
    const endMs = probes[at + 1]?.atMs ?? Infinity;
    const seen = states.find(([shown, shownMs]) => shown === state && shownMs >= atMs && shownMs < endMs);
    return (seen?.[1] ?? endMs) - atMs;
  });
}

/**
 * Changes one allocation after the other, and the watched one every PROBE_MS.
 *
 * @param {ReturnType<typeof publisher>} publish @param {Alloc[]} allocs @param {string} watched
 */
function steadyChanges(publish, allocs, watched) {
  /** @type {{ state: string, atMs: number }[]} */
  const probes = [];
  /** @type {Promise<unknown>[]} */
  const sent = [];
  const [looked] = allocs.filter(({ ID }) => ID === watched);
  const others = allocs.filter(({ ID }) => ID !== watched);
  if (!looked) throw new Error(`the page shows ${watched}, which is no allocation of the benchmark`);
  let count = 0;
  const change = (/** @type {Alloc | undefined} */ alloc, /** @type {'running' | 'pending'} */ ClientStatus) =>
    publish('AllocClientUpdate', {
      Allocs: [fixtures.aClientUpdate(alloc ?? looked, { ClientStatus, ModifyTime: Date.now() * 1e6 })],
      Evals: [],
    });
  const began = performance.now();
  const timer = setInterval(() => {
    const due = ((performance.now() - began) / 1_000) * CHANGES_PER_SECOND;
    for (; count < due; count += 1)
      sent.push(change(others[count % others.length], count % 2 === 0 ? 'running' : 'pending'));
  }, 1_000 / CHANGES_PER_SECOND);
  const prober = setInterval(() => {
    const state = probes.length % 2 === 0 ? 'pending' : 'running';
    sent.push(change(looked, state).then(() => probes.push({ state, atMs: Date.now() })));
  }, PROBE_MS);
  return {
    stop: async () => {
      clearInterval(timer);
      clearInterval(prober);
      await Promise.all(sent);
      return { probes };
    },
  };
}

/** Bytes of the page's heap after a collection. @param {import('playwright-core').Page} page */
async function heapBytes(page) {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  await session.detach();
  return usedSize;
}

/** CPU seconds of the page's own thread. @param {import('playwright-core').CDPSession} session */
async function busySeconds(session) {
  const { metrics } = await session.send('Performance.getMetrics');
  return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0;
}

const pause = (/** @type {number} */ seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
