import type { Named } from './fuzzy-names.js';

/** Matches handed out per context (`limit_query`). */
export const MAX_FUZZY_MATCHES = 20;
/** Matches looked for per context before the best are chosen (`limit_results`). */
export const MAX_FUZZY_CANDIDATES = 100;
/** Shorter texts match nearly everything (API-253). */
export const MIN_TERM_LENGTH = 2;

interface Match extends Named {
  readonly position: number;
}

export interface FuzzyMatch {
  readonly ID: string;
  readonly Scope?: readonly string[];
}

/** Collects what contains a text, in any case, of one context. Holds MAX_FUZZY_CANDIDATES matches. */
export class FuzzyMatches {
  private readonly found: Match[] = [];
  private overflowed = false;
  private readonly text: string;

  constructor(text: string) {
    this.text = text.toLowerCase();
  }

  offer(named: Named): void {
    const position = named.name.toLowerCase().indexOf(this.text);
    if (position < 0) return;
    if (this.found.length === MAX_FUZZY_CANDIDATES) this.overflowed = true;
    else this.found.push({ ...named, position });
  }

  /** There is more than is handed out. */
  get truncated(): boolean {
    return this.overflowed || this.found.length > MAX_FUZZY_MATCHES;
  }

  /** Where the text stands earlier, then in the shorter name, then by alphabet (API-252). */
  get best(): FuzzyMatch[] {
    return this.found
      .toSorted((a, b) => a.position - b.position || a.name.length - b.name.length || byText(a.name, b.name))
      .slice(0, MAX_FUZZY_MATCHES)
      .map(({ name, scope }) => ({ ID: name, ...(scope.length > 0 && { Scope: scope }) }));
  }
}

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
