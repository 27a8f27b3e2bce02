import { expect } from 'vitest';
import { eventually } from './wait.js';

/** A JSON object of an answer. */
export type Json = Record<string, unknown>;

/** An answer as the official client sees it. */
export interface Answered<T> {
  readonly body: T;
  /** `X-Nomad-Index`; 0 when the header is missing, as the client reads it (API-31). */
  readonly index: number;
  readonly nextToken: string;
}

/** What the official client makes of every status but 200 (API-35). */
export class UnexpectedResponseError extends Error {
  override readonly name = 'UnexpectedResponseError';
  constructor(
    readonly status: number,
    readonly text: string,
  ) {
    super(`Unexpected response code: ${status} (${text})`);
  }
}

type Query = Record<string, string | number | boolean>;
type Method = 'GET' | 'PUT' | 'DELETE';

/** A whole number that fits 64 bits without sign: what the client's structs demand of indexes, versions and counts. */
export const UINT: unknown = expect.toSatisfy(
  (value) => typeof value === 'number' && Number.isInteger(value) && value >= 0,
  'an unsigned integer',
);
export const INT: unknown = expect.toSatisfy((value) => Number.isInteger(value), 'an integer');
export const STRING: unknown = expect.any(String);
export const BOOL: unknown = expect.any(Boolean);
export const UUID: unknown = expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
/** Unix nanoseconds of this century. */
export const NS: unknown = expect.toSatisfy(
  (value) => typeof value === 'number' && Number.isInteger(value) && value > 1.6e18,
  'unix nanoseconds',
);

/**
 * Speaks to a server as the official command line does: the same paths, parameters, methods and headers, one method per
 * block that several commands share (http-api.md section 5). Every answer is held against `check`, if there is one.
 */
export class OfficialClient {
  constructor(
    private readonly url: string,
    private readonly check: (method: Method, path: string, body: unknown) => void = () => {},
  ) {}

  get<T = Json>(path: string, query: Query = {}): Promise<Answered<T>> {
    return this.send<T>('GET', path, query);
  }

  put<T = Json>(path: string, body?: unknown, query: Query = {}): Promise<Answered<T>> {
    return this.send<T>('PUT', path, query, body);
  }

  delete<T = Json>(path: string, query: Query = {}, body?: unknown): Promise<Answered<T>> {
    return this.send<T>('DELETE', path, query, body);
  }

  /** @throws UnexpectedResponseError */
  private async send<T>(method: Method, path: string, query: Query, body?: unknown): Promise<Answered<T>> {
    const target = new URL(`${this.url}${path}`);
    for (const [key, value] of Object.entries({ region: 'global', ...query }))
      target.searchParams.set(key, String(value));
    const answer = await fetch(target, {
      method,
      headers: { 'Accept-Encoding': 'gzip' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (answer.status !== 200) throw new UnexpectedResponseError(answer.status, text);
    const parsed: unknown = text === '' ? undefined : JSON.parse(text);
    this.check(method, path, parsed);
    return {
      body: parsed as T,
      index: Number(answer.headers.get('x-nomad-index') ?? 0),
      nextToken: answer.headers.get('x-nomad-nexttoken') ?? '',
    };
  }

  /** API-500. */
  async findJob(prefix: string): Promise<Json> {
    const { body } = await this.get<Json[]>('/v1/jobs', { prefix, per_page: 20, namespace: 'default' });
    for (const stub of body)
      expect(stub).toMatchObject({
        ID: STRING,
        Namespace: STRING,
        Type: STRING,
        Status: STRING,
        JobSummary: { Namespace: STRING },
      });
    const [first] = body;
    if (!first || (body.length > 1 && first['ID'] !== prefix)) throw new Error(`${body.length} jobs for ${prefix}`);
    return first;
  }

  /** API-501: the short form of an ID, as the tables print it, to the whole object. */
  async findByPrefix<T = Json>(kind: 'allocation' | 'node' | 'evaluation' | 'deployment', id: string): Promise<T> {
    const { body } = await this.get<{ ID: string }[]>(`/v1/${kind}s`, { prefix: id.slice(0, 8) });
    expect(body).toEqual([expect.objectContaining({ ID: id })]);
    return (await this.get<T>(`/v1/${kind}/${id}`)).body;
  }

  /** API-503: follows an evaluation to its end, and on to those that come after it. */
  async monitor(evalId: string): Promise<Json> {
    // API-56: not one 404, from the first question on.
    await this.get(`/v1/evaluation/${evalId}`);
    const ended = await eventually(`evaluation ${evalId} has ended`, async () => {
      const { body } = await this.get(`/v1/evaluation/${evalId}`);
      expect(body).toMatchObject({ ID: evalId, Status: STRING, Type: STRING, TriggeredBy: STRING, JobID: STRING });
      await this.allocationsOf(evalId);
      return ['complete', 'failed', 'canceled'].includes(String(body['Status'])) && body;
    });
    const next = ended['NextEval'];
    return typeof next === 'string' && next !== '' ? this.monitor(next) : ended;
  }

  /** Of an evaluation, with what the monitor prints of them. */
  async allocationsOf(evalId: string): Promise<Json[]> {
    const { body } = await this.get<Json[]>(`/v1/evaluation/${evalId}/allocations`);
    for (const stub of body)
      expect(stub).toMatchObject({
        ID: UUID,
        NodeID: UUID,
        TaskGroup: STRING,
        DesiredStatus: STRING,
        ClientStatus: STRING,
        CreateIndex: UINT,
        ModifyIndex: UINT,
      });
    return body;
  }

  /** API-504: blocking reads until the deployment has ended. */
  async monitorDeployment(id: string): Promise<Json> {
    for (let index = 0; ;) {
      const answer = await this.get(`/v1/deployment/${id}`, { stale: true, wait: '2000ms', index });
      expect(answer.index).toBeGreaterThan(0);
      index = answer.index;
      expect(answer.body).toMatchObject({
        ID: id,
        JobID: STRING,
        JobVersion: UINT,
        IsMultiregion: BOOL,
        Status: STRING,
        StatusDescription: STRING,
      });
      for (const group of Object.values(answer.body['TaskGroups'] as object)) expect(group).toMatchObject(GROUP_STATE);
      await this.get(`/v1/deployment/allocations/${id}`);
      if (['successful', 'failed', 'cancelled', 'blocked'].includes(String(answer.body['Status']))) return answer.body;
    }
  }

  /** API-502. What it says is not needed; it must not fail in a way that hurts. */
  async uiHint(): Promise<void> {
    await this.get('/v1/agent/self');
  }
}

/** What the monitor of deployments reads of a group. */
const GROUP_STATE = {
  DesiredTotal: INT,
  PlacedAllocs: INT,
  HealthyAllocs: INT,
  UnhealthyAllocs: INT,
  DesiredCanaries: INT,
  AutoRevert: BOOL,
  Promoted: BOOL,
  RequireProgressBy: expect.toSatisfy((at) => at === null || !Number.isNaN(Date.parse(String(at)))) as unknown,
};
