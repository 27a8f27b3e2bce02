import {
  type CancelTimer,
  type Clock,
  msFromNs,
  type Node,
  type NodeStatus,
  type Timers,
  isRefusal,
} from '@waybill/model';
import { heartbeat, type NodeUpdateResponse, type RoleTerms, type Rpc, RpcUnavailableError } from '@waybill/rpc';
import type { Logger } from '@waybill/telemetry';
import {
  DEV_RETRY_MS,
  FIRST_HEARTBEAT_RANDOM_MS,
  NO_SERVER_RETRY_MS,
  REGISTRATION_RETRY_MS,
  REGISTRATION_RETRY_RANDOM_MS,
  retryAfterMs,
} from './heartbeat-pace.js';
import type { MachineCredential } from '../machine/identity/machine-credential.js';
import type { MachineIntroduction } from './introduction.js';
import { largestParts } from './largest-parts.js';
import { OrderedRegistrations } from './ordered-registrations.js';

export interface ServerContactDependencies {
  readonly rpc: Rpc;
  readonly clock: Clock;
  readonly timers: Timers;
  /** Returns a number in [0, 1). */
  readonly random: () => number;
  readonly logger: Logger;
  /** Returns the current description of the machine, with its secret. */
  readonly node: () => Node;
  readonly credential: MachineCredential;
  /** Is told the holders of roles that an answer names (AU-256). */
  readonly hearsTerms?: ((terms: RoleTerms | undefined) => void) | undefined;
  /** Whether this is development: retries happen after a second, and the first heartbeat is sent at once. */
  readonly dev: boolean;
  /**
   * Is called before every heartbeat. The returned function receives the time in the servers' answer, in Unix
   * milliseconds.
   */
  readonly asksTime?: (() => (unixMs: number) => void) | undefined;
  /** Absent if the machine needs no token to register. */
  readonly introduction?: MachineIntroduction | undefined;
}

/** ContactListener learns of each successful registration and heartbeat. */
export interface ContactListener {
  /** Handles a registration. @param index the index of its transaction */
  registered(index: number): void;
  /** Handles a heartbeat. @param status the node's status at the servers (ND-68) */
  handleNodeStatus(status: NodeStatus): void;
}

/** NodeStanding is the status and eligibility of this machine, which the servers decide. */
export type NodeStanding = Pick<NodeUpdateResponse, 'Status' | 'SchedulingEligibility'>;

/**
 * ServerContact keeps this machine registered at the servers (agent.md section 5).
 *
 * States: stopped → registering → heartbeating → stopped. registering: until a registration succeeds. heartbeating: at
 * the servers' pace; `node not found` and a refused identity (AU-198) lead back to registering at once. It shares nothing
 * with the other loops, so they cannot delay it (AG-37). One request at a time, one timer.
 */
export class ServerContact {
  private mode: 'stopped' | 'registering' | 'heartbeating' = 'stopped';
  private cancel: CancelTimer | undefined;
  private lastSuccess: number | undefined;
  private ttlMs = 0;
  private lastStanding: NodeStanding | undefined;
  /** Whether the servers have yet to hear of a change of this machine. */
  private hasUnreportedChange = false;
  private isReportingChange = false;
  private isHeartbeatUnderWay = false;
  private listener: ContactListener | undefined;

  private readonly registrations: OrderedRegistrations;

  constructor(private readonly deps: ServerContactDependencies) {
    this.registrations = new OrderedRegistrations(deps.rpc, deps.credential);
  }

  /** Unix milliseconds of the last successful registration or heartbeat (AG-35). */
  get lastSuccessMs(): number | undefined {
    return this.lastSuccess;
  }

  get isRegistered(): boolean {
    return this.mode === 'heartbeating';
  }

  /** The standing in the last answer; undefined before the first. */
  get standing(): NodeStanding | undefined {
    return this.lastStanding;
  }

  /**
   * Starts the contact. The listener is not a parameter of the constructor, because of a cycle: a registration starts
   * the pull of allocations, and a pull that finds the servers' state restored registers this machine again (OP-47).
   */
  start(listener: ContactListener): void {
    this.listener = listener;
    this.mode = 'registering';
    void this.registerNode();
  }

  stop(): void {
    this.mode = 'stopped';
    this.cancel?.();
  }

  /**
   * Registers this machine again after a change, besides its continuing heartbeats. After a failure it tries again
   * after the next successful heartbeat. Changes in the meantime are sent together.
   */
  nodeChanged(): void {
    this.hasUnreportedChange = true;
    void this.reportNodeChange();
  }

  /** Sends the next heartbeat now instead of at the end of the TTL, unless one is under way. */
  heartbeatNow(): void {
    if (this.mode === 'heartbeating' && !this.isHeartbeatUnderWay) this.scheduleRun(0, () => this.sendHeartbeat());
  }

  private async reportNodeChange(): Promise<void> {
    if (this.isReportingChange) return;
    this.isReportingChange = true;
    try {
      while (this.hasUnreportedChange && this.mode === 'heartbeating') {
        this.hasUnreportedChange = false;
        await this.useIdentity(await this.registrations.send(() => this.registeredNode()));
      }
    } catch (error) {
      this.hasUnreportedChange = true;
      this.reportTooLarge(error);
      this.deps.logger.warn('a change of this machine could not be told; trying again', { error });
    } finally {
      this.isReportingChange = false;
    }
  }

  /** Says what to do about a machine whose description no message takes (PG-7). */
  private reportTooLarge(error: unknown): void {
    if (!isRefusal(error, 'too-large')) return;
    this.deps.logger.error(
      'this machine is described by more bytes than NATS takes: remove metadata, plugins or devices, or raise max_payload',
      { bytes: largestParts(this.deps.node()) },
    );
  }

  private registeredNode(): Node {
    return { ...this.deps.node(), Status: 'initializing' };
  }

  private async registerNode(): Promise<void> {
    if (this.mode !== 'registering') return;
    try {
      this.hasUnreportedChange = false;
      const token = await this.deps.introduction?.token();
      const answer = await this.registrations.send(() => this.registeredNode(), token);
      await this.remember((introduction) => introduction.registered());
      await this.useIdentity(answer).catch((error: unknown) => this.reportUnstored(error));
      if (this.isStopped()) return;
      this.handleAnswer(answer);
      this.mode = 'heartbeating';
      this.deps.logger.info('registered', { node: this.deps.node().ID, index: answer.Index });
      this.listener?.registered(answer.Index);
      void this.reportNodeChange();
      this.scheduleRun(this.deps.dev ? 0 : this.deps.random() * FIRST_HEARTBEAT_RANDOM_MS, () => this.sendHeartbeat());
    } catch (error) {
      if (isRefusal(error, 'forbidden')) await this.forgetServers();
      this.reportTooLarge(error);
      const retryMs = this.registrationRetryMs(error);
      this.deps.logger.warn('this machine could not be registered; trying again', {
        error,
        retryMs: Math.round(retryMs),
      });
      this.scheduleRun(retryMs, () => this.registerNode());
    }
  }

  /** Uses the new identity in an answer for all later calls. @throws the error of the disk (AU-197) */
  private async useIdentity({ SignedIdentity }: NodeUpdateResponse): Promise<void> {
    if (SignedIdentity !== undefined) await this.deps.credential.replace(SignedIdentity);
  }

  /** The servers do not permit the registration: they know neither this machine nor its identity (AU-207). */
  private async forgetServers(): Promise<void> {
    await this.remember((introduction) => introduction.refused());
    await this.deps.credential.forget().catch((error: unknown) => this.reportUnstored(error));
  }

  private reportUnstored(error: unknown): void {
    this.deps.logger.error('the signed identity of this machine could not be stored', { error });
  }

  /** Notes on disk whether this machine is registered. Without that it works on, and presents its token once more. */
  private async remember(note: (introduction: MachineIntroduction) => Promise<void>): Promise<void> {
    try {
      if (this.deps.introduction) await note(this.deps.introduction);
    } catch (error) {
      this.deps.logger.error('whether this machine is registered could not be stored', { error });
    }
  }

  /** Returns the pause before the next registration: short if no server answers, longer after a refusal (AG-31). */
  private registrationRetryMs(error: unknown): number {
    if (this.deps.dev || error instanceof RpcUnavailableError) return this.deps.dev ? DEV_RETRY_MS : NO_SERVER_RETRY_MS;
    return REGISTRATION_RETRY_MS + this.deps.random() * REGISTRATION_RETRY_RANDOM_MS;
  }

  private async sendHeartbeat(): Promise<void> {
    if (this.mode !== 'heartbeating') return;
    const { ID } = this.deps.node();
    const proof = this.deps.credential.inHeartbeat;
    this.isHeartbeatUnderWay = true;
    try {
      const hearTime = this.deps.asksTime?.();
      const answer = await this.deps.rpc.ask(heartbeat, { NodeID: ID, ...proof, Status: 'ready' });
      if (answer.SignedIdentity !== undefined) await this.useIdentity(answer);
      if (this.isStopped()) return;
      if (answer.TimeMs !== undefined) hearTime?.(answer.TimeMs);
      this.warnOfOutage();
      this.handleAnswer(answer);
      this.listener?.handleNodeStatus(answer.Status);
      void this.reportNodeChange();
      this.scheduleRun(this.ttlMs, () => this.sendHeartbeat());
    } catch (error) {
      this.handleFailure(error, proof.SecretID);
    } finally {
      this.isHeartbeatUnderWay = false;
    }
  }

  /** @param used the secret or identity with which the failed heartbeat was sent */
  private handleFailure(error: unknown, used: string): void {
    if (this.isStopped()) return;
    const isIdentityRefused = isRefusal(error, 'forbidden') && this.deps.credential.refused(used);
    if (isRefusal(error, 'not-found') || isIdentityRefused) {
      const reason = isIdentityRefused ? 'refuse the identity of' : 'do not know';
      this.deps.logger.warn(`the servers ${reason} this machine; registering again`);
      this.mode = 'registering';
      void this.registerNode();
      return;
    }
    const nowMs = this.deps.clock.nowMs();
    const hasLeader = !(error instanceof RpcUnavailableError);
    const failed = { lastSuccessMs: this.lastSuccess, ttlMs: this.ttlMs, hasLeader };
    const retryMs = this.deps.dev ? DEV_RETRY_MS : retryAfterMs(failed, nowMs, this.deps.random());
    this.deps.logger.warn('a heartbeat failed; trying again', { error, retryMs: Math.round(retryMs) });
    this.scheduleRun(retryMs, () => this.sendHeartbeat());
  }

  private handleAnswer(answer: NodeUpdateResponse): void {
    const { Status, SchedulingEligibility } = answer;
    this.deps.hearsTerms?.(answer.Terms);
    this.lastStanding = { Status, SchedulingEligibility };
    this.lastSuccess = this.deps.clock.nowMs();
    this.ttlMs = msFromNs(answer.HeartbeatTTL) || this.ttlMs || DEV_RETRY_MS;
  }

  /** Logs how many heartbeats were missed when the first one after an outage succeeds (AG-36). */
  private warnOfOutage(): void {
    if (this.lastSuccess === undefined || this.ttlMs === 0) return;
    const missed = Math.floor((this.deps.clock.nowMs() - this.lastSuccess) / this.ttlMs) - 1;
    if (missed > 0) this.deps.logger.warn('the servers are back', { missedHeartbeats: missed });
  }

  private scheduleRun(delayMs: number, run: () => Promise<void>): void {
    this.cancel?.();
    if (!this.isStopped()) this.cancel = this.deps.timers.after(delayMs, () => void run());
  }

  private isStopped(): boolean {
    return this.mode === 'stopped';
  }
}
