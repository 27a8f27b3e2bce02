import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { request } from 'node:https';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { type Clock, Slots } from '@waybill/model';
import { z } from 'zod';
import { introductionOf, KUBERNETES_AUDIENCE, type KubernetesIntroduction } from './kubernetes-introduction.js';

/** Longest wait for the Kubernetes API server, milliseconds: less than the time that nats-server gives a connection. */
const REVIEW_TIMEOUT_MS = 3_000;
/** A good review counts for this long, milliseconds: a machine connects and registers within it. */
const REMEMBERED_MS = 60_000;
/** Most reviews that are remembered. */
const MAX_REMEMBERED = 5_000;
/** Reviews at a time, and those that may wait. */
const MAX_REVIEWS = 16;
const MAX_WAITING_REVIEWS = 2_000;
/** Longest token and longest answer, bytes. */
const MAX_TOKEN_BYTES = 8_192;
const MAX_ANSWER_BYTES = 65_536;

const REVIEW = z.object({
  status: z.object({
    authenticated: z.boolean().optional(),
    audiences: z.array(z.string()).optional(),
    user: z
      .object({ username: z.string().optional(), extra: z.record(z.string(), z.array(z.string())).optional() })
      .optional(),
  }),
});

/** The Kubernetes API server does not review tokens now. */
export class TokenReviewError extends Error {
  override readonly name = 'TokenReviewError';
}

export interface TokenReviewsOptions {
  /** Address of the API server, such as https://kubernetes.default.svc. */
  readonly server: string;
  /** Directory with `token` and `ca.crt`, as Kubernetes mounts it for a service account. Read anew for each review. */
  readonly accountDir: string;
  /** User name of the agents' service account. */
  readonly account: string;
  readonly clock: Clock;
}

interface Remembered {
  readonly introduction: KubernetesIntroduction;
  readonly untilMs: number;
}

/**
 * TokenReviews asks the Kubernetes API server for the owner of a token (AU-266). The server checks signature, expiry and audience,
 * and whether the pod of the token still exists. It remembers good reviews for REMEMBERED_MS by a hash of the token; a
 * refused token is asked for each time.
 * Limits: MAX_REVIEWS at a time, MAX_WAITING_REVIEWS, MAX_REMEMBERED. Cost: one HTTPS request for a token.
 */
export class TokenReviews {
  private readonly remembered = new Map<string, Remembered>();
  private readonly slots = new Slots(MAX_REVIEWS, {
    most: MAX_WAITING_REVIEWS,
    refusal: 'too many tokens wait for a review by Kubernetes; try again',
  });

  constructor(private readonly options: TokenReviewsOptions) {}

  /**
   * @returns undefined if the token introduces nobody
   * @throws TokenReviewError if the API server does not answer, or does not let this service ask; Refusal limit
   */
  async introductionOf(token: string): Promise<KubernetesIntroduction | undefined> {
    if (token.length > MAX_TOKEN_BYTES) return undefined;
    const key = createHash('sha256').update(token).digest('base64');
    const nowMs = this.options.clock.nowMs();
    const known = this.remembered.get(key);
    if (known && known.untilMs > nowMs) return known.introduction;
    const introduction = await this.slots.use(() => this.reviewed(token));
    this.remembered.delete(key);
    if (introduction) this.remember(key, { introduction, untilMs: nowMs + REMEMBERED_MS });
    return introduction;
  }

  private remember(key: string, review: Remembered): void {
    this.remembered.set(key, review);
    if (this.remembered.size <= MAX_REMEMBERED) return;
    for (const oldest of this.remembered.keys()) {
      this.remembered.delete(oldest);
      break;
    }
  }

  private async reviewed(token: string): Promise<KubernetesIntroduction | undefined> {
    const { account } = this.options;
    const parsed = REVIEW.safeParse(await this.ask({ token, audiences: [KUBERNETES_AUDIENCE] }));
    if (!parsed.success) throw new TokenReviewError('the Kubernetes API server answered without a review');
    return introductionOf(parsed.data.status, account);
  }

  private async ask(spec: object): Promise<unknown> {
    const { server, accountDir } = this.options;
    const read = (name: string): Promise<string> => readFile(path.join(accountDir, name), 'utf8');
    try {
      const [own, ca] = await Promise.all([read('token'), read('ca.crt')]);
      const body = JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec });
      return JSON.parse(await posted(`${server}/apis/authentication.k8s.io/v1/tokenreviews`, own.trim(), ca, body));
    } catch (cause) {
      if (cause instanceof TokenReviewError) throw cause;
      throw new TokenReviewError(`the Kubernetes API server at ${server} does not review tokens`, { cause });
    }
  }
}

/** @throws TokenReviewError for another status than 201, and the error of the connection */
function posted(url: string, token: string, ca: string, body: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const signal = AbortSignal.timeout(REVIEW_TIMEOUT_MS);
    const sent = request(url, { method: 'POST', headers, ca, signal }, (answer) => {
      if (answer.statusCode !== 201) {
        answer.resume();
        reject(new TokenReviewError(`the Kubernetes API server answered a TokenReview with ${answer.statusCode}`));
        return;
      }
      let received = 0;
      answer.on('data', (chunk: Buffer) => {
        received += chunk.length;
        if (received > MAX_ANSWER_BYTES) answer.destroy(new TokenReviewError('the review is too long'));
      });
      text(answer).then(resolve, reject);
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
