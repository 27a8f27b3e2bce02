import { FakeTime } from '@waybill/model';
import { beforeEach, describe, expect, it } from 'vitest';
import { StartCancelledError } from '../driver.js';
import {
  type ImageSource,
  Images,
  type ImageWish,
  PULL_NEWS_MS,
  PULL_TIMEOUT_MS,
  PullError,
  UNUSED_IMAGE_MS,
} from './images.js';

/** Engine ends its pulls on command. */
class Engine implements ImageSource {
  /** Whether its pulls go on after they were given up. */
  ignoresAbort = false;
  readonly present = new Map<string, { id: string; isFromRegistry: boolean }>();
  readonly pulls: {
    readonly image: string;
    readonly progress: (news: string) => void;
    readonly end: (error?: Error) => void;
    readonly signal: AbortSignal;
  }[] = [];

  async find(image: string) {
    return this.present.get(image);
  }

  pull(image: string, _: unknown, progress: (news: string) => void, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => this.ignoresAbort || reject(new Error('aborted')));
      this.pulls.push({
        image,
        progress,
        signal,
        end: (error) => {
          if (error) return reject(error);
          this.present.set(image, { id: image, isFromRegistry: true });
          resolve();
        },
      });
    });
  }

  async remove(id: string) {
    this.present.delete(id);
  }
}

let time: FakeTime;
let engine: Engine;
let images: Images;
let told: string[];

beforeEach(() => {
  time = new FakeTime();
  engine = new Engine();
  images = new Images(engine, time, true);
  told = [];
});

describe('an image of an archive', () => {
  it('AG-281: is loaded in place of a pull, each time', async () => {
    let loads = 0;
    const load = async (): Promise<void> => {
      loads++;
      engine.present.set('i:1', { id: `loaded ${loads}`, isFromRegistry: false });
    };
    expect(await images.provideImage('t1', wish({ load }), () => {})).toBe('loaded 1');
    expect(await images.provideImage('t2', wish({ load, force: true }), () => {})).toBe('loaded 2');
    expect(engine.pulls).toEqual([]);
  });

  it('AG-281: that the archive does not have is no start', async () => {
    const started = images.provideImage('t1', wish({ load: async () => {} }), () => {});
    await expect(started).rejects.toMatchObject({
      message: 'the loaded archive has no image "i:1"',
      recoverable: false,
    });
    expect(engine.pulls).toEqual([]);
  });
});

const wish = (over: Partial<ImageWish> = {}): ImageWish => ({
  image: 'i:1',
  force: false,
  credentials: undefined,
  timeoutMs: PULL_TIMEOUT_MS,
  ...over,
});
const use = (task: string, over: Partial<ImageWish> = {}) =>
  images.provideImage(task, wish(over), (message) => told.push(message));

describe('images that tasks use', () => {
  it('AG-283: one that the engine has is not pulled, unless it is forced', async () => {
    engine.present.set('i:1', { id: 'i:1', isFromRegistry: true });
    await use('a');
    expect([engine.pulls, told]).toEqual([[], []]);
    const forced = use('b', { force: true });
    await time.pass(0);
    engine.pulls[0]!.end();
    expect(await forced).toBe('i:1');
  });

  it('AG-283: several tasks wait for one pull, and hear how far it is', async () => {
    const both = [use('a'), use('b')];
    await time.pass(0);
    expect(engine.pulls).toHaveLength(1);
    engine.pulls[0]!.progress('1/2 layers');
    await time.pass(PULL_NEWS_MS);
    engine.pulls[0]!.end();
    await Promise.all(both);
    const news = 'Docker image pull progress: 1/2 layers';
    expect(told).toEqual(['Downloading image', 'Downloading image', news, news]);
  });

  it('AG-283: a pull ends after its limit, and may be tried again', async () => {
    const pulled = use('a');
    await time.pass(0);
    const message = 'failed to pull "i:1": not done after 300 seconds';
    const refused = expect(pulled).rejects.toMatchObject({ message, recoverable: true });
    await time.pass(PULL_TIMEOUT_MS);
    await refused;
  });

  it('AG-283: a task that has to stop does not wait for its pull, and the last one ends it', async () => {
    const [first, second] = [new AbortController(), new AbortController()];
    const [a, b] = [use('a', { unwanted: first.signal }), use('b', { unwanted: second.signal })];
    await time.pass(0);
    const givenUp = { name: 'StartCancelledError' };
    first.abort();
    await expect(a).rejects.toMatchObject(givenUp);
    expect(engine.pulls[0]?.signal.aborted).toBe(false);
    engine.pulls[0]?.progress('1/2 layers');
    told.length = 0;
    await time.pass(PULL_NEWS_MS);
    expect(told).toEqual(['Docker image pull progress: 1/2 layers']);
    second.abort();
    await expect(b).rejects.toMatchObject(givenUp);
    expect(engine.pulls[0]?.signal.aborted).toBe(true);
  });

  it('AG-283: after a pull that nobody waited for, the next task begins another one', async () => {
    engine.ignoresAbort = true;
    const stop = new AbortController();
    const given = use('a', { unwanted: stop.signal });
    await time.pass(0);
    stop.abort();
    await expect(given).rejects.toThrow(StartCancelledError);
    const next = use('b', { unwanted: new AbortController().signal });
    await time.pass(0);
    expect(engine.pulls).toHaveLength(2);
    engine.pulls[1]?.end();
    expect(await next).toBe('i:1');
    expect(told.at(-1)).toBe('Downloading image');
  });

  it.each([
    [new PullError('no route', true), true],
    [new PullError('manifest unknown', false), false],
  ])('AG-283: %s', async (error, recoverable) => {
    const pulled = use('a');
    await time.pass(0);
    engine.pulls[0]!.end(error);
    await expect(pulled).rejects.toMatchObject({ name: 'StartError', recoverable });
  });

  it('AG-283: one that no task uses any more is removed after three minutes, one that is used again is not', async () => {
    engine.present.set('i:1', { id: 'i:1', isFromRegistry: true });
    await use('a');
    await use('b');
    images.releaseImage('a');
    await time.pass(UNUSED_IMAGE_MS);
    expect(engine.present.size).toBe(1);
    images.releaseImage('b');
    await time.pass(UNUSED_IMAGE_MS - 1);
    images.markUsed('c', 'i:1');
    await time.pass(UNUSED_IMAGE_MS);
    expect(engine.present.size).toBe(1);
    images.releaseImage('c');
    await time.pass(UNUSED_IMAGE_MS);
    expect(engine.present.size).toBe(0);
  });

  it('AG-283: an engine that is away when an image has its time is asked again, and brings nobody down', async () => {
    engine.present.set('i:1', { id: 'i:1', isFromRegistry: true });
    await use('a');
    await use('b', { image: 'i:1' });
    images.releaseImage('a');
    images.releaseImage('b');
    const find = engine.find.bind(engine);
    engine.find = () => Promise.reject(new Error('connect ENOENT'));
    await time.pass(2 * UNUSED_IMAGE_MS);
    expect(engine.present.size).toBe(1);
    engine.find = find;
    await time.pass(UNUSED_IMAGE_MS);
    expect(engine.present.size).toBe(0);
  });

  it('AG-283: one that was made on the machine stays, and so do all where it is switched off', async () => {
    engine.present.set('i:1', { id: 'i:1', isFromRegistry: false });
    await use('a');
    images.releaseImage('a');
    await time.pass(UNUSED_IMAGE_MS);
    expect(engine.present.size).toBe(1);
    engine.present.set('i:1', { id: 'i:1', isFromRegistry: true });
    images = new Images(engine, time, false);
    await use('a');
    images.releaseImage('a');
    await time.pass(UNUSED_IMAGE_MS);
    expect(engine.present.size).toBe(1);
  });
});
