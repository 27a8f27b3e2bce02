import { type ApiClient, headerText, type Query } from '../server/api-client.js';
import { CommandFailure } from '../failure.js';
import { fileBytes } from '../allocations/log-frames.js';

/**
 * What the agent at the address writes to its log, as it comes, until the signal; at another `path` what it has stored.
 * @throws AnswerFailure, ConnectionFailure, CommandFailure it is no agent that answers
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
