import type { Named } from './fuzzy-names.js';

/** The largest number of matches per context in an answer (`limit_query`). */
export const MAX_FUZZY_MATCHES = 20;
/** The largest number of matches per context from which the best are chosen (`limit_results`). */
export const MAX_FUZZY_CANDIDATES = 100;
/** The smallest length of a text. Shorter ones match nearly everything (API-253). */
export const MIN_TERM_LENGTH = 2;

interface Match extends Named {
  readonly position: number;
}

export interface FuzzyMatch {
  readonly ID: string;
  readonly Scope?: readonly string[];
}

/**
 * FuzzyMatches collects the names of one context that contain a text, in any case. Memory: MAX_FUZZY_CANDIDATES
 * matches.
 */
export class FuzzyMatches {
  private readonly found: Match[] = [];
  private overflowed = false;
  private readonly text: string;

  constructor(text: string) {
    this.text = text.toLowerCase();
  }

  addName(named: Named): void {
    const position = named.name.toLowerCase().indexOf(this.text);
    if (position < 0) return;
    if (this.found.length === MAX_FUZZY_CANDIDATES) this.overflowed = true;
    else this.found.push({ ...named, position });
  }

  /** Is true if there are more matches than the answer has. */
  get truncated(): boolean {
    return this.overflowed || this.found.length > MAX_FUZZY_MATCHES;
  }

  /**
   * Returns the best matches: first those with the text at an earlier position, then shorter names, then in
   * alphabetical order (API-252).
   */
  get best(): FuzzyMatch[] {
    return this.found
      .toSorted((a, b) => a.position - b.position || a.name.length - b.name.length || byText(a.name, b.name))
      .slice(0, MAX_FUZZY_MATCHES)
      .map(({ name, scope }) => ({ ID: name, ...(scope.length > 0 && { Scope: scope }) }));
  }
}

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
