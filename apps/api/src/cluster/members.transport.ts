import type { NatsConnection } from '@nats-io/transport-node';
import type { OnModuleDestroy, OnModuleInit } from '@nestjs/common';
import { inOrder, type Member } from './member.js';

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
 * every member in the answer is alive. Cost: one request per question, and STALL_MS longer than the slowest answer.
 */
export class Members implements OnModuleInit, OnModuleDestroy {
  private endOffer: () => void = () => {};

  constructor(
    private readonly nc: NatsConnection,
    /** Returns this process in its current state. */
    readonly own: () => Member,
  ) {}

  /** Answers other processes from now on. */
  onModuleInit(): void {
    const subscription = this.nc.subscribe(SUBJECT, {
      callback: (error, msg) => void (error ?? msg.respond(JSON.stringify(this.own()))),
    });
    this.endOffer = () => subscription.unsubscribe();
  }

  onModuleDestroy(): void {
    this.endOffer();
  }

  /** Returns the members in order. This process is always one of them; without NATS it is the only one. */
  async list(): Promise<Member[]> {
    const own = this.own();
    const others = await this.otherMembers(own.ID).catch(() => []);
    return inOrder([own, ...others]);
  }

  /** Says whether this process is the one that answers for all (OP-106). */
  async isFirst(): Promise<boolean> {
    const [first] = await this.list();
    return first?.ID === this.own().ID;
  }

  private async otherMembers(ownId: string): Promise<Member[]> {
    const found = new Map<string, Member>();
    const options = { strategy: 'stall', stall: STALL_MS, maxWait: MAX_WAIT_MS } as const;
    for await (const msg of await this.nc.requestMany(SUBJECT, '', options)) {
      if (msg.data.length === 0) continue; // nobody is there
      const member = msg.json<Member>();
      if (member.ID !== ownId) found.set(member.ID, member);
    }
    return [...found.values()];
  }
}
