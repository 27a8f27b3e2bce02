import type { NatsConnection } from '@nats-io/transport-node';
import type { OnModuleDestroy, OnModuleInit } from '@nestjs/common';
import type { Logger } from '@waybill/telemetry';
import { inOrder, issuerProblem, type Member } from './member.js';

/** The subject on which every API process reports its identity. */
const SUBJECT = 'waybill.api.members';
/** The time in milliseconds without an answer after which no more are expected. */
const STALL_MS = 100;
/**
 * The longest time in milliseconds that answers are awaited altogether. A process that has not answered by then counts
 * as absent.
 */
const MAX_WAIT_MS = 500;

/**
 * Members finds the API processes of this region. They do not know each other. Each question is sent to all of them, so
 * every member in the answer is alive. A question names its sender, so a process that starts and asks is known to the
 * others. Cost: one request per question, and STALL_MS longer than the slowest answer.
 */
export class Members implements OnModuleInit, OnModuleDestroy {
  private endOffer: () => void = () => {};
  /** The last problem that was logged; undefined if all members name the same issuer. */
  private problem: string | undefined;

  constructor(
    private readonly nc: NatsConnection,
    /** Returns this process in its current state. */
    readonly own: () => Member,
    private readonly logger: Logger,
  ) {}

  /** Answers other processes from now on, and compares the settings that all must share. */
  onModuleInit(): void {
    const subscription = this.nc.subscribe(SUBJECT, {
      callback: (error, msg) => {
        if (error) return;
        msg.respond(JSON.stringify(this.own()));
        if (msg.data.length > 0) this.heardOf(msg.json<Member>());
      },
    });
    this.endOffer = () => subscription.unsubscribe();
    void this.list();
  }

  onModuleDestroy(): void {
    this.endOffer();
  }

  /** Returns the members in order. This process is always one of them; without NATS it is the only one. */
  async list(): Promise<Member[]> {
    const own = this.own();
    const others = await this.otherMembers(own).catch(() => []);
    this.reportIssuers(issuerProblem(own, others));
    return inOrder([own, ...others]);
  }

  /**
   * Says which members name another issuer, or returns undefined. It asks the members only if a difference is known,
   * because that member may have ended.
   */
  async issuerProblem(): Promise<string | undefined> {
    if (this.problem !== undefined) await this.list();
    return this.problem;
  }

  /** Says whether this process is the one that answers for all (OP-106). */
  async isFirst(): Promise<boolean> {
    const [first] = await this.list();
    return first?.ID === this.own().ID;
  }

  /** A process that asks may be new. The others are as they were. */
  private heardOf(member: Member): void {
    const problem = issuerProblem(this.own(), [member]);
    if (problem !== undefined) this.reportIssuers(problem);
  }

  private reportIssuers(problem: string | undefined): void {
    if (problem !== undefined && problem !== this.problem) this.logger.warn(problem);
    this.problem = problem;
  }

  private async otherMembers(own: Member): Promise<Member[]> {
    const found = new Map<string, Member>();
    const options = { strategy: 'stall', stall: STALL_MS, maxWait: MAX_WAIT_MS } as const;
    for await (const msg of await this.nc.requestMany(SUBJECT, JSON.stringify(own), options)) {
      if (msg.data.length === 0) continue; // nobody is there
      const member = msg.json<Member>();
      if (member.ID !== own.ID) found.set(member.ID, member);
    }
    return [...found.values()];
  }
}
