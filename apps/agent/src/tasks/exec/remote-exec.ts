import type { CancelTimer, Timers } from '@waybill/model';
import {
  type ExecOutputChunk,
  type ExecReadRequest,
  type ExecReadResponse,
  type ExecStartRequest,
  type ExecStartResponse,
  type ExecWriteRequest,
  MAX_EXEC_CHUNK_BYTES,
  RpcError,
} from '@waybill/rpc';
import type { ExecSession } from './exec-session.js';

/** The largest number of concurrent sessions on one machine. */
export const MAX_EXEC_SESSIONS = 200;
/** The command of a peer that has not read output for this long is killed (AG-326). */
export const PEER_TIMEOUT_MS = 15_000;
/**
 * The longest wait of a read in milliseconds. It is then answered with the available output, or with none, so both
 * sides know that the other is alive.
 */
export const MAX_READ_WAIT_MS = 5_000;
/**
 * The time in milliseconds for which a read gathers small pieces (as AG-305 does for logs), because a shell echoes
 * single characters.
 */
const GATHER_MS = 5;

export interface RemoteExecDependencies {
  readonly timers: Timers;
  readonly newId: () => string;
  /** Begins a command in a task. @throws RpcError with the messages of the contract (AG-324) */
  readonly begin: (request: ExecStartRequest) => Promise<ExecSession>;
}

interface Held {
  readonly session: ExecSession;
  /** The pending read of output. It is kept from one call to the next. */
  reading: Promise<ExecOutputChunk | null> | null;
  isReading: boolean;
  cancelVanished: CancelTimer;
}

/**
 * RemoteExec runs commands of peers in tasks of this machine. Peers pull output and wait for the answer to each input,
 * so each side slows the other down and nothing accumulates between them.
 *
 * States of a session: started → exited → ended. It ends at once if its peer ends it or vanishes, or if its task ends.
 * The exit code is reported once, after all output (AG-323). Limits: MAX_EXEC_SESSIONS, PEER_TIMEOUT_MS,
 * MAX_EXEC_CHUNK_BYTES per answer.
 */
export class RemoteExec {
  private readonly sessions = new Map<string, Held>();
  private isStopped = false;

  constructor(private readonly deps: RemoteExecDependencies) {}

  get count(): number {
    return this.sessions.size;
  }

  /** Starts a command and returns the id of its session. @throws RpcError */
  async start(request: ExecStartRequest): Promise<ExecStartResponse> {
    if (this.sessions.size >= MAX_EXEC_SESSIONS)
      throw new RpcError('limit', 'too many commands are being run in tasks of this machine');
    const session = await this.deps.begin(request);
    if (this.isStopped) {
      await session.kill(); // otherwise nothing would end it
      throw new RpcError('unavailable', 'the agent of this machine ends');
    }
    const held: Held = { session, reading: null, isReading: false, cancelVanished: () => {} };

    const SessionID = this.deps.newId();
    this.sessions.set(SessionID, held);
    this.restartPeerTimeout(SessionID, held);
    return { SessionID };
  }

  /**
   * Returns the output since the last read, and waits if there is none. The last answer has the exit code.
   * @throws RpcError not-found, conflict
   */
  async readOutput({ SessionID }: ExecReadRequest): Promise<ExecReadResponse> {
    const held = this.sessionOf(SessionID);
    if (held.isReading) throw new RpcError('conflict', 'this session is being read already');
    held.isReading = true;
    held.cancelVanished();
    try {
      const chunks = await this.gatherChunks(held);
      if (chunks !== 'ended') return { Chunks: chunks, ExitCode: null };
      // A command that closed its output may continue to run.
      const ExitCode = await this.withTimeout(held.session.exitCode, MAX_READ_WAIT_MS);
      if (ExitCode === 'late') return { Chunks: [], ExitCode: null };
      this.removeSession(SessionID, held);
      return { Chunks: [], ExitCode };
    } finally {
      held.isReading = false;
      if (this.sessions.has(SessionID)) this.restartPeerTimeout(SessionID, held);
    }
  }

  /** Writes input. It answers when there is room for more. @throws RpcError not-found */
  async write({ SessionID, Data, Close, Size }: ExecWriteRequest): Promise<null> {
    const { session } = this.sessionOf(SessionID);
    if (Size) session.resize({ height: Size.Height, width: Size.Width });
    if (Data !== '') await session.write(Buffer.from(Data, 'base64'));
    if (Close) session.closeInput();
    return null;
  }

  /** Kills the command of a session, because its peer has left. Succeeds if the session has ended already (AG-326). */
  async end(sessionId: string): Promise<null> {
    const held = this.sessions.get(sessionId);
    if (!held) return null;
    this.removeSession(sessionId, held);
    await held.session.kill();
    return null;
  }

  /** Ends all sessions, including those that are just starting. */
  async stop(): Promise<void> {
    this.isStopped = true;
    await Promise.all([...this.sessions.keys()].map((id) => this.end(id)));
  }

  private async gatherChunks(held: Held): Promise<ExecOutputChunk[] | 'ended'> {
    const chunks: ExecOutputChunk[] = [];
    let bytes = 0;
    for (let waitMs = MAX_READ_WAIT_MS; bytes < MAX_EXEC_CHUNK_BYTES; waitMs = GATHER_MS) {
      held.reading ??= held.session.read().then((output) => output && toChunk(output));
      const chunk = await this.withTimeout(held.reading, waitMs);
      if (chunk === 'late') break;
      held.reading = null;
      if (chunk === null) return chunks.length > 0 ? this.keepEnd(held, chunks) : 'ended';
      chunks.push(chunk);
      bytes += chunk.Data.length;
    }
    return chunks;
  }

  /** Keeps the end for the next answer, because it was read together with the last output. */
  private keepEnd(held: Held, chunks: ExecOutputChunk[]): ExecOutputChunk[] {
    held.reading = Promise.resolve(null);
    return chunks;
  }

  private withTimeout<T>(coming: Promise<T>, waitMs: number): Promise<T | 'late'> {
    return new Promise((resolve, reject) => {
      const cancel = this.deps.timers.after(waitMs, () => resolve('late'));
      coming.then(resolve, reject).finally(cancel);
    });
  }

  private restartPeerTimeout(sessionId: string, held: Held): void {
    held.cancelVanished();
    held.cancelVanished = this.deps.timers.after(PEER_TIMEOUT_MS, () => void this.end(sessionId));
  }

  private removeSession(sessionId: string, held: Held): void {
    held.cancelVanished();
    this.sessions.delete(sessionId);
  }

  private sessionOf(sessionId: string): Held {
    const held = this.sessions.get(sessionId);
    if (!held) throw new RpcError('not-found', 'this session has ended');
    return held;
  }
}

const toChunk = ({ stream, data }: { stream: 'stdout' | 'stderr'; data: Uint8Array }): ExecOutputChunk => ({
  Stream: stream,
  Data: Buffer.from(data).toString('base64'),
});
