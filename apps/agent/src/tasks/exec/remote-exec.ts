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

/** On one machine at a time. */
export const MAX_EXEC_SESSIONS = 200;
/** The command of a peer that has not read output for this long is killed (AG-326). */
export const PEER_TIMEOUT_MS = 15_000;
/** A read is answered after this with what there is, also with nothing: so both sides know that the other is there. */
export const MAX_READ_WAIT_MS = 5_000;
/** One look may gather small pieces for so long (AG-305 in the small): a shell echoes character by character. */
const GATHER_MS = 5;

export interface RemoteExecDependencies {
  readonly timers: Timers;
  readonly newId: () => string;
  /** Begins a command in a task. @throws RpcError in the words of the contract (AG-324) */
  readonly begin: (request: ExecStartRequest) => Promise<ExecSession>;
}

interface Held {
  readonly session: ExecSession;
  /** The output that is being waited for; kept from one look to the next. */
  reading: Promise<ExecOutputChunk | null> | null;
  isReading: boolean;
  cancelVanished: CancelTimer;
}

/**
 * The commands that peers run in tasks of this machine, as calls: whoever reads pulls, whoever writes waits for the answer,
 * so both are held up by the other side and nothing piles up between them.
 *
 * A session is: started → exited → ended; ended at once by its peer, by a peer that vanished, or by its task. The exit is
 * told once, after all output (AG-323). Limits: MAX_EXEC_SESSIONS, PEER_TIMEOUT_MS, MAX_EXEC_CHUNK_BYTES an answer.
 */
export class RemoteExec {
  private readonly sessions = new Map<string, Held>();
  private isStopped = false;

  constructor(private readonly deps: RemoteExecDependencies) {}

  get count(): number {
    return this.sessions.size;
  }

  /** @throws RpcError */
  async start(request: ExecStartRequest): Promise<ExecStartResponse> {
    if (this.sessions.size >= MAX_EXEC_SESSIONS)
      throw new RpcError('limit', 'too many commands are being run in tasks of this machine');
    const session = await this.deps.begin(request);
    if (this.isStopped) {
      await session.kill(); // nobody would end it any more
      throw new RpcError('unavailable', 'the agent of this machine ends');
    }
    const held: Held = { session, reading: null, isReading: false, cancelVanished: () => {} };

    const SessionID = this.deps.newId();
    this.sessions.set(SessionID, held);
    this.expectPeer(SessionID, held);
    return { SessionID };
  }

  /** What has come since; waits for something. The last answer has the exit code. @throws RpcError not-found, conflict */
  async readOutput({ SessionID }: ExecReadRequest): Promise<ExecReadResponse> {
    const held = this.held(SessionID);
    if (held.isReading) throw new RpcError('conflict', 'this session is being read already');
    held.isReading = true;
    held.cancelVanished();
    try {
      const chunks = await this.gather(held);
      if (chunks !== 'ended') return { Chunks: chunks, ExitCode: null };
      // One that closed its output may run on for as long as it likes.
      const ExitCode = await this.within(held.session.exitCode, MAX_READ_WAIT_MS);
      if (ExitCode === 'late') return { Chunks: [], ExitCode: null };
      this.forget(SessionID, held);
      return { Chunks: [], ExitCode };
    } finally {
      held.isReading = false;
      if (this.sessions.has(SessionID)) this.expectPeer(SessionID, held);
    }
  }

  /** Answered when there is room for more. @throws RpcError not-found */
  async write({ SessionID, Data, Close, Size }: ExecWriteRequest): Promise<null> {
    const { session } = this.held(SessionID);
    if (Size) session.resize({ height: Size.Height, width: Size.Width });
    if (Data !== '') await session.write(Buffer.from(Data, 'base64'));
    if (Close) session.closeInput();
    return null;
  }

  /** Kills the command of a session, because its peer has left. Succeeds if the session has ended already (AG-326). */
  async end(sessionId: string): Promise<null> {
    const held = this.sessions.get(sessionId);
    if (!held) return null;
    this.forget(sessionId, held);
    await held.session.kill();
    return null;
  }

  /** Also what is only beginning now. */
  async stop(): Promise<void> {
    this.isStopped = true;
    await Promise.all([...this.sessions.keys()].map((id) => this.end(id)));
  }

  private async gather(held: Held): Promise<ExecOutputChunk[] | 'ended'> {
    const chunks: ExecOutputChunk[] = [];
    let bytes = 0;
    for (let waitMs = MAX_READ_WAIT_MS; bytes < MAX_EXEC_CHUNK_BYTES; waitMs = GATHER_MS) {
      held.reading ??= held.session.read().then((output) => output && toChunk(output));
      const chunk = await this.within(held.reading, waitMs);
      if (chunk === 'late') break;
      held.reading = null;
      if (chunk === null) return chunks.length > 0 ? this.keepEnd(held, chunks) : 'ended';
      chunks.push(chunk);
      bytes += chunk.Data.length;
    }
    return chunks;
  }

  /** The end was read together with the last output: it is told by the next answer. */
  private keepEnd(held: Held, chunks: ExecOutputChunk[]): ExecOutputChunk[] {
    held.reading = Promise.resolve(null);
    return chunks;
  }

  private within<T>(coming: Promise<T>, waitMs: number): Promise<T | 'late'> {
    return new Promise((resolve, reject) => {
      const cancel = this.deps.timers.after(waitMs, () => resolve('late'));
      coming.then(resolve, reject).finally(cancel);
    });
  }

  private expectPeer(sessionId: string, held: Held): void {
    held.cancelVanished();
    held.cancelVanished = this.deps.timers.after(PEER_TIMEOUT_MS, () => void this.end(sessionId));
  }

  private forget(sessionId: string, held: Held): void {
    held.cancelVanished();
    this.sessions.delete(sessionId);
  }

  private held(sessionId: string): Held {
    const held = this.sessions.get(sessionId);
    if (!held) throw new RpcError('not-found', 'this session has ended');
    return held;
  }
}

const toChunk = ({ stream, data }: { stream: 'stdout' | 'stderr'; data: Uint8Array }): ExecOutputChunk => ({
  Stream: stream,
  Data: Buffer.from(data).toString('base64'),
});
