export type TokenKind =
  /** Between actions. */
  | 'text'
  | 'open'
  | 'close'
  | 'space'
  /** `.Name`; the value is without its dot */
  | 'field'
  /** `$name`, or `$` alone */
  | 'variable'
  /** Functions, keywords, `true`, `false`, `nil`. */
  | 'word'
  | 'string'
  | 'number'
  /** `. | ( ) , := =` */
  | 'mark'
  | 'end';

export interface Token {
  readonly kind: TokenKind;
  /** Its meaning: strings are unquoted, numbers converted. */
  readonly value: string | number | bigint;
  readonly start: number;
  readonly end: number;
}

export interface Delimiters {
  readonly left: string;
  readonly right: string;
}

/** Go's; each may be replaced on its own. */
export const TEMPLATE_DELIMITERS: Delimiters = { left: '{{', right: '}}' };
