import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';

const CHROMIUM = '/usr/bin/chromium';
export const hasChromium = existsSync(CHROMIUM);

const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-background-networking'];
/** Chromium starts several processes; on a busy machine that takes a while. */
const START_TIMEOUT_MS = 90_000;
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export type Colours = 'light' | 'dark';

/** A real browser that looks at the pages, and what they complained of meanwhile. */
export class WebBrowser {
  /** Errors of the console and uncaught ones, broken rules of the content security policy among them. */
  readonly complaints: string[] = [];

  private constructor(
    private readonly browser: Browser,
    readonly context: BrowserContext,
    readonly page: Page,
    private readonly pictures: string,
  ) {}

  /** @param pictures directory of the pictures that `look` takes */
  static async open(baseURL: string, pictures: string): Promise<WebBrowser> {
    mkdirSync(pictures, { recursive: true });
    const browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS, timeout: START_TIMEOUT_MS });
    const context = await browser.newContext({ baseURL, viewport: { width: 1280, height: 800 } });
    const page = await context.newPage();
    page.setDefaultTimeout(20_000);
    const opened = new WebBrowser(browser, context, page, pictures);
    page.on('console', (message) => {
      if (message.type() === 'error') opened.complaints.push(message.text());
    });
    page.on('pageerror', (error) => opened.complaints.push(String(error)));
    return opened;
  }

  /** Takes a picture of the page, and has it examined, in both colours. @returns what is wrong for people who cannot see it */
  async look(name: string): Promise<string[]> {
    const found: string[] = [];
    for (const colours of ['light', 'dark'] as const) {
      await this.page.emulateMedia({ colorScheme: colours, reducedMotion: 'reduce' });
      await this.page.screenshot({ path: path.join(this.pictures, `${name}-${colours}.png`) });
      found.push(...(await this.barriers()).map((one) => `${name}, ${colours}: ${one}`));
    }
    return found;
  }

  /** The page on a phone. @returns how many pixels of it stick out at the side */
  async lookOnPhone(name: string): Promise<number> {
    await this.page.setViewportSize({ width: 390, height: 844 });
    await this.page.screenshot({ path: path.join(this.pictures, `${name}-phone.png`) });
    const overhang = await this.page.evaluate('document.documentElement.scrollWidth - innerWidth');
    await this.page.setViewportSize({ width: 1280, height: 800 });
    return Number(overhang);
  }

  /** What axe finds, a line for each place. The script comes by the debugger, which the page's policy does not bind. */
  private async barriers(): Promise<string[]> {
    await this.page.evaluate(AXE);
    const found: unknown = await this.page.evaluate(
      `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>
        violations.flatMap(({ id, nodes }) => nodes.map((node) => id + ': ' + node.html.slice(0, 200) + ' ' + (node.any[0]?.message ?? ''))))`,
    );
    return found as string[];
  }

  close(): Promise<void> {
    return this.browser.close();
  }
}
