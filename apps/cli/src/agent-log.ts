import type { ApiClient, Query } from './api-client.js';
import { fileBytes } from './log-frames.js';

/** What the agent at the address writes to its log, as it comes, until the signal. @throws AnswerFailure, ConnectionFailure */
export async function* logOfAgent(api: ApiClient, query: Query): AsyncGenerator<Uint8Array> {
  const { body } = await api.stream('/v1/agent/monitor', query);
  yield* fileBytes(body);
}
