import type { DynamicModule, Provider, Type } from '@nestjs/common';
import { PATTERN_EXTRAS_METADATA, PATTERN_METADATA } from '@nestjs/microservices/constants.js';
import { type Call, type CallGuard, type CallProtection, checkRequest, isProtected } from '@waybill/rpc';
import type { Role } from '@waybill/state';
import type { AnswerCall } from './call-exchange.js';

/** A call that a service answers. */
export interface AnsweredCall {
  readonly name: string;
  /** Only while its process holds this role. */
  readonly role: Role | undefined;
  /** Answered to other regions, and to nobody else. */
  readonly betweenRegions: boolean;
  readonly answer: AnswerCall;
}

/**
 * The calls that a service's module answers, as Nest would find them: by the decorators of its controllers, which get
 * what the module provides. Nest itself is left out: it starts with real timers. The guard admits callers to protected calls.
 */
export function answersOf(module: DynamicModule, guard: CallGuard): AnsweredCall[] {
  const provided = new Map((module.providers ?? []).map(providedValue));
  return (module.controllers ?? []).flatMap((Controller) => answersOfController(Controller, provided, guard));
}

function providedValue(provider: Provider): [token: unknown, value: unknown] {
  if (typeof provider === 'object' && 'useValue' in provider) return [provider.provide, provider.useValue];
  throw new TypeError('only values are provided in a service module');
}

function answersOfController(
  Controller: Type<object>,
  provided: ReadonlyMap<unknown, unknown>,
  guard: CallGuard,
): AnsweredCall[] {
  const controller = Reflect.construct(Controller, dependenciesOf(Controller, provided)) as Record<string, unknown>;
  return Object.getOwnPropertyNames(Controller.prototype).flatMap((method) => {
    const handler = controller[method];
    if (typeof handler !== 'function') return [];
    const [name] = (Reflect.getMetadata(PATTERN_METADATA, handler) ?? []) as string[];
    if (name === undefined) return [];
    const extras = Reflect.getMetadata(PATTERN_EXTRAS_METADATA, handler) as Partial<Call<unknown, unknown>> | undefined;
    const answer = guarded({ ...extras, name }, guard, async (request, context) => {
      checkRequest(extras?.request, request);
      return handler.call(controller, request, context);
    });
    return [{ name, role: extras?.role, betweenRegions: extras?.betweenRegions === true, answer }];
  });
}

/** Answers a call only if the guard admits its caller. */
export const guarded =
  (call: CallProtection, guard: CallGuard, answer: AnswerCall): AnswerCall =>
  async (request, context) => {
    if (isProtected(call)) await guard.admit(call, request, context.authority);
    return answer(request, context);
  };

function dependenciesOf(Controller: Type<object>, provided: ReadonlyMap<unknown, unknown>): unknown[] {
  const types = (Reflect.getMetadata('design:paramtypes', Controller) ?? []) as unknown[];
  const named = (Reflect.getMetadata('self:paramtypes', Controller) ?? []) as { index: number; param: unknown }[];
  const tokens = [...types];
  for (const { index, param } of named) tokens[index] = param;
  return tokens.map((token) => {
    if (!provided.has(token)) throw new TypeError(`${Controller.name} needs what its module does not provide`);
    return provided.get(token);
  });
}
