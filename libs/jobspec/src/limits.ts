/** What one parse may cost (jobspec.md §15). Beyond each of them there is an error that names it. */
export const MAX_SOURCE_BYTES = 4 << 20;
/** Of blocks in blocks and of expressions in expressions: deeper, the stack would end. */
export const MAX_NESTING = 200;
/** Operators, or steps such as `.a` and `[0]`, in a row: each makes the tree one level deeper. */
export const MAX_CHAIN = 250;
/** Of what is evaluated within each other: nesting and chains together, far from the stack's end. */
export const MAX_EVALUATION_DEPTH = 500;
/** Names of all `locals` blocks together: each may refer to all others. */
export const MAX_LOCALS = 1_000;
/** Blocks made by `dynamic`, over the whole file. */
export const MAX_GENERATED_BLOCKS = 10_000;
/** Nodes of the syntax tree evaluated, elements made by functions included. */
export const MAX_EVALUATION_STEPS = 1_000_000;
/** UTF-16 units of one produced string. */
export const MAX_STRING_LENGTH = 1 << 20;
/** Elements of one `range` (JS §7). */
export const MAX_RANGE_ELEMENTS = 1024;
/** Of `bcrypt`, a power of two: more would take minutes in which nothing else runs. */
export const MAX_BCRYPT_COST = 16;
/** Decimal digits that a number keeps (JS-35). */
export const NUMBER_DIGITS = 150;
/** Largest power of ten of a number: a hundred characters must not make a gigabyte of digits. */
export const MAX_NUMBER_EXPONENT = 2000;
