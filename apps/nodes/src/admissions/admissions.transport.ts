import {
  AUTH_REQUESTS,
  AuthRequestError,
  type ConnectionIssuer,
  type ConnectRequest,
  readConnectRequest,
} from '@waybill/journal';
import type { Clock } from '@waybill/model';
import type { Logger } from '@waybill/telemetry';
import type { Msg } from '@nats-io/transport-node';
import type { Admissions } from './admissions.js';

/** Questions in progress. Further ones get no answer, and their clients connect again. */
const MAX_QUESTIONS = 4_096;

type Question = Pick<Msg, 'string' | 'respond'>;
type Subscription = Readonly<{ drain: () => Promise<void> }>;

/** The part of a connection to NATS that brings the questions. */
export interface QuestionSource {
  subscribe(
    subject: string,
    options: Readonly<{ queue: string; callback: (error: Error | null, question: Question) => void }>,
  ): Subscription;
}

export interface AdmissionServerDependencies {
  readonly nc: QuestionSource;
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
      callback: (error, question) => void (error ? this.reportUnheard(error) : this.take(question)),
    });
  }

  async stop(): Promise<void> {
    // A subscription that NATS has ended, or that ends with its connection, cannot be drained.
    await this.subscription?.drain().catch(() => undefined);
  }

  /** NATS ends the subscription of a service that may not hear the questions. */
  private reportUnheard(error: Error): void {
    this.deps.logger.error(
      'NATS does not let this service admit machines: make the line of nodes in its configuration anew, and restart NATS and this service',
      { error },
    );
  }

  private async take(question: Question): Promise<void> {
    if (this.inProgress >= MAX_QUESTIONS) return;
    this.inProgress++;
    try {
      const answer = await this.answer(question.string());
      if (answer !== undefined) question.respond(answer);
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
