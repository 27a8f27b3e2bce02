import type { NatsConnection } from '@nats-io/transport-node';
import type { OnModuleDestroy, OnModuleInit } from '@nestjs/common';
import { inOrder, type Member } from './member.js';

/** Where every API process says who it is. */
const SUBJECT = 'waybill.api.members';
/** Answers are waited for until none has come for this long, ms. */
const STALL_MS = 100;
/** And no longer than this altogether, ms: whoever has not answered by then is not there. */
const MAX_WAIT_MS = 500;

/**
 * The API processes of this region. They do not know of each other: they are asked when somebody wants to know, so whoever
 * is named does answer. Cost: one request per question, STALL_MS longer than the slowest answer.
 */
export class Members implements OnModuleInit, OnModuleDestroy {
  private endOffer: () => void = () => {};

  constructor(
    private readonly nc: NatsConnection,
    /** This process, as it is now. */
    readonly own: () => Member,
  ) {}

  /** Answers others from now on. */
  onModuleInit(): void {
    const subscription = this.nc.subscribe(SUBJECT, {
      callback: (error, msg) => void (error ?? msg.respond(JSON.stringify(this.own()))),
    });
    this.endOffer = () => subscription.unsubscribe();
  }

  onModuleDestroy(): void {
    this.endOffer();
  }

  /** In order, this one always among them: without NATS it is all that it knows of. */
  async list(): Promise<Member[]> {
    const own = this.own();
    const others = await this.others(own.ID).catch(() => []);
    return inOrder([own, ...others]);
  }

  /** Whether this process is the one that answers for all (OP-106). */
  async isFirst(): Promise<boolean> {
    const [first] = await this.list();
    return first?.ID === this.own().ID;
  }

  private async others(ownId: string): Promise<Member[]> {
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
