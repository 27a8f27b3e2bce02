import { isRefusal, errorText } from '@waybill/model';
import {
  execEnd,
  execRead,
  execStart,
  type ExecStartRequest,
  execWrite,
  RpcUnavailableError,
  type UserRpc,
} from '@waybill/rpc';
import { CLOSE } from '@waybill/websocket';
import { RefusedCredential } from '../../access/callers.js';
import { closedMessage, ExecMessageError, exitedMessage, inputOf, outputMessage } from './exec-messages.js';

/** ExecClient is the client of an exec session, whatever its connection is. */
export interface ExecClient {
  messages(): AsyncIterable<string>;
  /** Resolves when there is room for more. */
  send(text: string): Promise<void>;
  close(code: number, reason: string): void;
  readonly closed: AbortSignal;
}

/**
 * Runs one command in a task, between a client and the agent (AG-320 to AG-326). It requests output as the client takes
 * it, and takes input as the command reads it. It ends with the command or with its client. Memory: one answer of the
 * agent and one message of the client.
 */
export async function runExec(
  rpc: UserRpc,
  nodeId: string,
  request: ExecStartRequest,
  client: ExecClient,
): Promise<void> {
  const target = { target: nodeId };
  let session: { readonly SessionID: string };
  try {
    session = await rpc.ask(execStart, request, target);
  } catch (error) {
    return sendAway(client, error);
  }
  // The result does not matter: without the message, the agent notices by itself that nobody reads any more.
  const end = (): void => void rpc.ask(execEnd, session, target).catch(() => {});
  if (client.closed.aborted) return end();
  client.closed.addEventListener('abort', end, { once: true });

  const input = async (): Promise<void> => {
    for await (const message of client.messages()) {
      const written = inputOf(message);
      if (written) await rpc.ask(execWrite, { ...session, ...written }, target).catch(ifEnded);
    }
  };
  const output = async (): Promise<void> => {
    while (!client.closed.aborted) {
      const { Chunks, ExitCode } = await rpc.ask(execRead, session, target);
      for (const chunk of Chunks) await client.send(outputMessage(chunk));
      if (ExitCode === null) continue;
      client.closed.removeEventListener('abort', end);
      for (const stream of ['stdout', 'stderr'] as const) await client.send(closedMessage(stream));
      await client.send(exitedMessage(ExitCode));
      return client.close(CLOSE.normal, '');
    }
  };
  // If the input ends first, the output continues, unless the client has disconnected.
  await Promise.all([input(), output()]).catch((error: unknown) => {
    if (client.closed.aborted) return;
    end();
    sendAway(client, error);
  });
}

/** Ignores that a command has ended and accepts no more input, because its output reports the end. */
function ifEnded(error: unknown): void {
  if (!isRefusal(error, 'not-found')) throw error;
}

/**
 * Closes the client's connection: 1008 for a wrong request, 1011 for any other failure and for a lack of rights
 * (AG-324).
 */
export function sendAway(client: Pick<ExecClient, 'close'>, error: unknown): void {
  const reason = error instanceof RpcUnavailableError ? 'No path to node' : errorText(error);
  const isAskers = error instanceof ExecMessageError || isRefusal(error, 'invalid') || isRefusal(error, 'not-found');
  client.close(isAskers ? CLOSE.policy : CLOSE.internal, reason);
}

/** Ends a session whose client may not go on: 1008 if the client's token was deleted or has expired (AU-237). */
export function endSession(client: Pick<ExecClient, 'close'>, why: unknown): void {
  if (why instanceof RefusedCredential) client.close(CLOSE.policy, 'ACL token expired');
  else sendAway(client, why);
}
