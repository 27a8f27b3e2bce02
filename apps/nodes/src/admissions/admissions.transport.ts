import {
  AUTH_REQUESTS,
  AuthRequestError,
  type ConnectionIssuer,
  type ConnectRequest,
  readConnectRequest,
} from '@waybill/journal';
import type { Clock } from '@waybill/model';
import type { Logger } from '@waybill/telemetry';
import type { Msg, NatsConnection, Subscription } from '@nats-io/transport-node';
import type { Admissions } from './admissions.js';

/** Questions in progress. Further ones get no answer, and their clients connect again. */
const MAX_QUESTIONS = 4_096;

export interface AdmissionServerDependencies {
  readonly nc: NatsConnection;
  readonly issuer: ConnectionIssuer;
  readonly admissions: Pick<Admissions, 'decide'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Counts an answer. */
  readonly answered: (isAdmitted: boolean) => void;
}

/**
 * AdmissionServer answers nats-server's questions about connections (AU-264). All `nodes` services share them. It does
 * not answer while it cannot decide, for example because Kubernetes is away: the client then waits and connects again.
 * Existing connections do not depend on it. Limit: MAX_QUESTIONS.
 */
export class AdmissionServer {
  private subscription: Subscription | undefined;
  private inProgress = 0;

  constructor(private readonly deps: AdmissionServerDependencies) {}

  start(): void {
    this.subscription = this.deps.nc.subscribe(AUTH_REQUESTS, {
      queue: 'nodes.admissions',
      callback: (error, msg) => void (error ?? this.take(msg)),
    });
  }

  async stop(): Promise<void> {
    await this.subscription?.drain();
  }

  private async take(msg: Msg): Promise<void> {
    if (this.inProgress >= MAX_QUESTIONS) return;
    this.inProgress++;
    try {
      const answer = await this.answer(msg.string());
      if (answer !== undefined) msg.respond(answer);
    } finally {
      this.inProgress--;
    }
  }

  private async answer(question: string): Promise<string | undefined> {
    const { issuer, admissions, clock, logger, answered } = this.deps;
    const nowS = (): number => Math.floor(clock.nowMs() / 1_000);
    const request = this.read(question);
    if (request instanceof AuthRequestError) {
      answered(false);
      logger.warn('a connection to NATS is not admitted', { reason: request.message });
      return request.questioned && issuer.refuse(request.questioned, request.message, nowS());
    }
    try {
      const admission = await admissions.decide(request);
      const isAdmitted = 'user' in admission;
      answered(isAdmitted);
      if (isAdmitted) return issuer.admit(request, admission.user, nowS());
      logger.warn('a machine is not admitted to NATS', {
        node: admission.node,
        reason: admission.refused,
        host: request.host,
      });
      return issuer.refuse(request, admission.refused, nowS());
    } catch (error) {
      logger.error('a connection to NATS waits, because it cannot be decided about', { host: request.host, error });
      return undefined;
    }
  }

  private read(question: string): ConnectRequest | AuthRequestError {
    try {
      return readConnectRequest(question);
    } catch (error) {
      if (error instanceof AuthRequestError) return error;
      throw error;
    }
  }
}
