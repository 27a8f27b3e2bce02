export { NatsAnnouncer } from './announcer.transport.js';
export type { AddressedPart, EventStream, EventTail } from './event-stream.js';
export { NatsEventStream } from './events.transport.js';
export { PostgresStore } from './postgres.store.js';
export type { Announcer, ProjectionStore } from './projection-store.js';
export { Projector, type ProjectorOptions, STANDING_MS } from './projector.js';
export { Retention, type RetentionOptions, type RetentionPolicy } from './retention.js';
export { projector } from './projector.module.js';
