import { type ApiClient, headerText, type Query } from '../server/api-client.js';
import { CommandFailure } from '../failure.js';
import { fileBytes } from '../allocations/log-frames.js';

/**
 * Follows the log of the agent at the address until the signal, or reads its stored log at another `path`.
 * @throws AnswerFailure, ConnectionFailure, CommandFailure if no agent answers
 */
export async function* logOfAgent(
  api: ApiClient,
  query: Query,
  path = '/v1/agent/monitor',
): AsyncGenerator<Uint8Array> {
  const { headers, body } = await api.stream(path, query);
  if (!headerText(headers, 'content-type').startsWith('application/json'))
    throw new CommandFailure('Error starting monitor: the answer is no log (no Waybill server?)');
  yield* fileBytes(body);
}
