import { type Assertion, PatternError, type PatternNode } from './pattern-syntax.js';

export type Instruction =
  | { readonly kind: 'character'; readonly matches: (codePoint: number) => boolean; next: number }
  | { readonly kind: 'assert'; readonly holds: Assertion; next: number }
  /** Branches into two threads. Matches of `first` are preferred to matches of `second`. */
  | { readonly kind: 'split'; first: number; second: number }
  /** Saves the position: slot 2n is the start of group n, and slot 2n + 1 its end. */
  | { readonly kind: 'save'; readonly slot: number; next: number }
  | { readonly kind: 'match' };

/** Most instructions of one pattern. Counted repetitions are unrolled, so `(a{100}){100}` exceeds the limit. */
export const MAX_INSTRUCTIONS = 10_000;

/** Compiles a pattern. The program starts at 0, and its last instruction is `match`. @throws PatternError */
export function compile(pattern: PatternNode): Instruction[] {
  const program: Instruction[] = [];
  const emit = (instruction: Instruction): void => {
    if (program.length >= MAX_INSTRUCTIONS) throw new PatternError('expression too large');
    program.push(instruction);
  };
  write(pattern, program, emit);
  emit({ kind: 'match' });
  return program;
}

/** Writes the instructions of a node. They continue with the instructions that are written next. */
function write(node: PatternNode, program: Instruction[], emit: (instruction: Instruction) => void): void {
  switch (node.kind) {
    case 'character':
      emit({ kind: 'character', matches: node.matches, next: program.length + 1 });
      return;
    case 'assert':
      emit({ kind: 'assert', holds: node.holds, next: program.length + 1 });
      return;
    case 'sequence':
      for (const part of node.parts) write(part, program, emit);
      return;
    case 'choice':
      writeChoice(node.of, program, emit);
      return;
    case 'group':
      emit({ kind: 'save', slot: 2 * node.group, next: program.length + 1 });
      write(node.of, program, emit);
      emit({ kind: 'save', slot: 2 * node.group + 1, next: program.length + 1 });
      return;
    case 'repeat':
      writeRepeat(node, program, emit);
  }
}

function writeChoice(
  of: readonly PatternNode[],
  program: Instruction[],
  emit: (instruction: Instruction) => void,
): void {
  const ends: { first: number; second: number }[] = [];
  for (const [i, option] of of.entries()) {
    if (i === of.length - 1) {
      write(option, program, emit);
      break;
    }
    const split = { kind: 'split' as const, first: program.length + 1, second: 0 };
    emit(split);
    write(option, program, emit);
    const end = { kind: 'split' as const, first: 0, second: 0 };
    emit(end);
    ends.push(end);
    split.second = program.length;
  }
  for (const end of ends) end.first = end.second = program.length;
}

function writeRepeat(
  { of, min, max, isLazy }: Extract<PatternNode, { kind: 'repeat' }>,
  program: Instruction[],
  emit: (instruction: Instruction) => void,
): void {
  for (let i = 0; i < min; i++) write(of, program, emit);
  const skips: { first: number; second: number }[] = [];
  for (let i = min; max === undefined ? i === min : i < max; i++) {
    const start = program.length;
    const split = { kind: 'split' as const, first: start + 1, second: start + 1 };
    emit(split);
    skips.push(split);
    write(of, program, emit);
    if (max === undefined) emit({ kind: 'split', first: start, second: start });
  }
  for (const skip of skips) skip[isLazy ? 'first' : 'second'] = program.length;
}
