import type { Pattern } from './expression.js';
import { FilterSyntaxError } from './filter-error.js';
import { compile, type Instruction } from './pattern-program.js';
import { parsePattern, PatternError } from './pattern-syntax.js';

/**
 * Compiles an unanchored regular expression in RE2's syntax. Thompson's automaton follows all states at once, so the
 * time is at most text × program for every pattern, and `(a*)*b` is as harmless as `ab`. As in RE2, there is no
 * look-around and no back-reference. `\C` and programs beyond MAX_INSTRUCTIONS are refused too.
 * @throws FilterSyntaxError
 */
export function compilePattern(text: string): Pattern {
  try {
    return new Automaton(compile(parsePattern(text).node));
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    throw new FilterSyntaxError(`error parsing regexp: ${error.message}: \`${text}\``);
  }
}

/** Runs synchronously from start to end, so one set of states serves all texts. */
class Automaton implements Pattern {
  private readonly states: States;
  private readonly others: States;
  private readonly open: number[] = [];

  constructor(private readonly program: readonly Instruction[]) {
    this.states = new States(program.length);
    this.others = new States(program.length);
  }

  test(text: string, spend: (steps: number) => void): boolean {
    let { states, others: next } = this;
    states.clear();
    let before = -1;
    let after = text.codePointAt(0) ?? -1;
    for (let at = 0; ;) {
      // A match may start at any position.
      if (this.follow(states, 0, before, after)) return true;
      if (after === -1) return false;
      spend(1 + states.size);
      at += after > 0xffff ? 2 : 1;
      before = after;
      after = text.codePointAt(at) ?? -1;
      next.clear();
      for (let i = 0; i < states.size; i++) {
        const instruction = this.program[states.at(i)];
        if (instruction?.kind !== 'character' || !instruction.matches(before)) continue;
        if (this.follow(next, instruction.next, before, after)) return true;
      }
      [states, next] = [next, states];
    }
  }

  /** Adds all states that are reached without consuming a character. Returns whether the final state is among them. */
  private follow(states: States, from: number, before: number, after: number): boolean {
    const { open } = this;
    open.length = 0;
    open.push(from);
    for (let pc = open.pop(); pc !== undefined; pc = open.pop()) {
      if (!states.add(pc)) continue;
      const instruction = this.program[pc];
      switch (instruction?.kind) {
        case 'match':
          return true;
        case 'split':
          open.push(instruction.second, instruction.first);
          break;
        case 'assert':
          if (instruction.holds(before, after)) open.push(instruction.next);
          break;
        case 'save':
          open.push(instruction.next);
          break;
        default:
          break;
      }
    }
    return false;
  }
}

/** A set of small numbers in insertion order. Adding, testing and clearing take constant time. */
class States {
  size = 0;
  private readonly dense: Uint16Array;
  private readonly sparse: Uint16Array;

  constructor(capacity: number) {
    this.dense = new Uint16Array(capacity);
    this.sparse = new Uint16Array(capacity);
  }

  at(i: number): number {
    return this.dense[i] ?? 0;
  }

  add(value: number): boolean {
    const place = this.sparse[value] ?? 0;
    if (place < this.size && this.dense[place] === value) return false;
    this.dense[this.size] = value;
    this.sparse[value] = this.size++;
    return true;
  }

  clear(): void {
    this.size = 0;
  }
}
