import type { CallExchange } from '../world/call-exchange.js';
import type { Report } from './violation.js';

/** What a program throws that was not written for what it was given. */
const OF_DEFECTS = [TypeError, RangeError, ReferenceError, SyntaxError, URIError];

/** Whatever is asked, by whomever: a service answers or refuses, and does not fall over what it was sent. */
export function reportDefects(calls: CallExchange, report: Report): void {
  calls.onThrown = (name, error) => {
    if (error instanceof Error && OF_DEFECTS.some((kind) => error instanceof kind))
      report('no-service-throws', `${name}: ${error.stack ?? error.message}`);
  };
}
