import { Link } from '@tanstack/react-router';
import { objectAddress } from '../app/object-address.js';

/** HistoryKind is a kind of object whose earlier states can be read. */
export type HistoryKind =
  | 'job'
  | 'alloc'
  | 'eval'
  | 'deployment'
  | 'node'
  | 'volume'
  | 'host-volume'
  | 'plugin'
  | 'policy'
  | 'role'
  | 'token'
  | 'var';

interface HistoryLinkProps {
  readonly kind: HistoryKind;
  readonly id: string;
  /** The namespace; empty if the kind has none. */
  readonly namespace: string;
}

/** The way to what has changed an object, and to the object as it was. */
export const HistoryLink = ({ kind, id, namespace }: HistoryLinkProps) => (
  <Link to="/history/$kind/$object" params={{ kind, object: objectAddress({ id, namespace }) }}>
    as it was
  </Link>
);
