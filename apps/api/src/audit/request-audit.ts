import { createHash } from 'node:crypto';
import type { Caller } from '../access/caller.js';
import type { RequestNotes, VerifiedSubject } from '../http/request-notes.js';
import type { AuditLog } from './audit-log.js';
import {
  type AuditAuth,
  auditAuth,
  auditError,
  type AuditRecord,
  auditRequest,
  type AuditResponse,
  loginAuth,
  type SeenRequest,
  type Stage,
} from './audit-record.js';

/** Recorder has the facts about its server. */
export interface Recorder {
  readonly log: AuditLog;
  readonly region: string;
  readonly isAccessControlOn: boolean;
  /** Returns the mark by which a refused credential is recognized. */
  readonly fingerprint: (credential: string) => string;
  /** A monotonic time in milliseconds. */
  readonly elapsed: () => number;
}

/** Answering has the facts about a request that become known while it is answered. */
export interface Answering {
  readonly caller: () => Caller | undefined;
  readonly traceId: () => string | undefined;
  readonly body: () => unknown;
  /** Returns the bytes sent so far. */
  readonly sentBytes: () => number;
  /** Calls `run` when the connection of the answer closes. */
  readonly whenClosed: (run: () => void) => void;
}

export interface Answered {
  readonly status: number;
  /** The text of an error answer. */
  readonly error?: string;
  /** The index of what was read or written. */
  readonly index?: number;
}

const FORBIDDEN = 403;
const READS: readonly string[] = ['GET', 'HEAD', 'OPTIONS'];

/**
 * RequestAudit makes the records of one request (AU-272). received → completed, or received → completed → closed for a
 * stream. A record that filters leave out is held until the request is answered, because a refused request is never
 * hidden (AU-280). Memory: the request's part of the records. Cost of a change: a hash of its body.
 */
export class RequestAudit implements RequestNotes {
  private readonly request;
  private readonly startedMs: number;
  private credentialHash: string | undefined;
  private login: VerifiedSubject | undefined;
  private requestId: string | undefined;
  private withheld: AuditRecord | undefined;
  private stage: Stage = 'OperationReceived';

  constructor(
    private readonly recorder: Recorder,
    private readonly seen: SeenRequest,
    private readonly answering: Answering,
  ) {
    this.request = auditRequest(seen, recorder.region);
    this.startedMs = recorder.elapsed();
  }

  refused(credential: string): void {
    this.credentialHash = this.recorder.fingerprint(credential);
  }

  loggedIn(login: VerifiedSubject): void {
    this.login = login;
  }

  writes(requestId: string): void {
    this.requestId ??= requestId;
  }

  get isCompleted(): boolean {
    return this.stage !== 'OperationReceived';
  }

  /** Records the request before it is carried out. @throws Refusal internal if it must not be carried out (AU-278) */
  async received(): Promise<void> {
    try {
      await this.tell('OperationReceived', undefined);
    } catch (error) {
      this.stage = 'OperationClosed'; // of a request that was not let in, nothing more is said
      throw error;
    }
  }

  /** Records the answer before it is sent. @throws Refusal internal if another answer must be sent */
  async completed(answered: Answered): Promise<void> {
    if (this.isCompleted) return;
    this.stage = 'OperationComplete';
    const { status, error = '' } = answered;
    if (status === FORBIDDEN && this.withheld) await this.recorder.log.write(this.withheld);
    await this.tell('OperationComplete', {
      status_code: status,
      ...(error !== '' && { error: auditError(error, this.seen.credential) }),
      ...this.writtenBy(answered),
      duration_ms: this.elapsedMs(),
    });
  }

  async beginsStream(status: number): Promise<void> {
    await this.completed({ status });
    const sentBefore = this.answering.sentBytes();
    this.answering.whenClosed(() => {
      this.closed(status, this.answering.sentBytes() - sentBefore);
    });
  }

  /** Records the end of a stream. Nothing waits for this record, because no other answer is possible. */
  closed(status: number, bytes: number): void {
    if (this.stage === 'OperationClosed') return;
    this.stage = 'OperationClosed';
    this.tell('OperationClosed', { status_code: status, duration_ms: this.elapsedMs(), bytes }).catch(() => {});
  }

  private async tell(stage: Stage, response: AuditResponse | undefined): Promise<void> {
    const { log } = this.recorder;
    const { record, isLeftOut } = log.record({
      stage,
      auth: this.auth(),
      request: stage === 'OperationComplete' ? { ...this.request, ...this.foundOut() } : this.request,
      ...(response && { response }),
    });
    if (isLeftOut) this.withheld = stage === 'OperationReceived' ? record : undefined;
    else await log.write(record);
  }

  /**
   * Returns who sent the request. `unchecked` says that it has a credential that this server has not checked, not yet
   * or not at all (AU-274).
   */
  private auth(): AuditAuth {
    if (!this.recorder.isAccessControlOn) return { accessor_id: 'acls-disabled' };
    if (this.credentialHash !== undefined) return { accessor_id: 'invalid', credential_hash: this.credentialHash };
    const caller = this.answering.caller();
    const sender = caller ? auditAuth(caller) : this.unidentified();
    return this.login ? { ...sender, ...loginAuth(this.login) } : sender;
  }

  private unidentified(): AuditAuth {
    return { accessor_id: this.seen.credential === undefined ? 'anonymous' : 'unchecked' };
  }

  /** Returns what is known of a request only after it was read. */
  private foundOut(): { trace_id?: string; body_sha256?: string } {
    const [traceId, body] = [this.answering.traceId(), this.answering.body()];
    const isChange = !READS.includes(this.seen.method) && Buffer.isBuffer(body) && body.length > 0;
    return {
      ...(traceId !== undefined && { trace_id: traceId }),
      ...(isChange && { body_sha256: createHash('sha256').update(body).digest('hex') }),
    };
  }

  /** Returns the transaction that connects this record with the log (AU-276). The index of a read does not. */
  private writtenBy({ status, index }: Answered): { request_id?: string; index?: number } {
    if (this.requestId === undefined) return {};
    const isWritten = status < 300 && index !== undefined && index > 0;
    return { request_id: this.requestId, ...(isWritten && { index }) };
  }

  private elapsedMs(): number {
    return Math.round((this.recorder.elapsed() - this.startedMs) * 1_000) / 1_000;
  }
}
