import { Link } from '@tanstack/react-router';
import { objectAddress } from '../app/object-address.js';

const SHOWN_LETTERS = 8;

/** The beginning of an ID, as people say it; the whole of it when pointed at. */
export const shortId = (id: string): string => id.slice(0, SHOWN_LETTERS);

interface OfId {
  readonly id: string | undefined;
}

export const AllocationLink = ({ id = '' }: OfId) =>
  id === '' ? undefined : (
    <Link to="/allocations/$id" params={{ id }} title={id}>
      <code>{shortId(id)}</code>
    </Link>
  );

export const EvaluationLink = ({ id = '' }: OfId) =>
  id === '' ? undefined : (
    <Link to="/evaluations/$id" params={{ id }} title={id}>
      <code>{shortId(id)}</code>
    </Link>
  );

export const DeploymentLink = ({ id = '' }: OfId) =>
  id === '' ? undefined : (
    <Link to="/deployments/$id" params={{ id }} title={id}>
      <code>{shortId(id)}</code>
    </Link>
  );

export const NodeLink = ({ id = '', name }: OfId & { readonly name?: string | undefined }) =>
  id === '' ? undefined : (
    <Link to="/clients/$id" params={{ id }} title={id}>
      {name === undefined || name === '' ? shortId(id) : name}
    </Link>
  );

interface JobLinkProps extends OfId {
  readonly namespace: string | undefined;
}

export const JobLink = ({ id = '', namespace = 'default' }: JobLinkProps) =>
  id === '' ? undefined : (
    <Link to="/jobs/$job" params={{ job: objectAddress({ id, namespace }) }}>
      {id}
    </Link>
  );

export const ServiceLink = ({ id = '', namespace = 'default' }: JobLinkProps) => (
  <Link to="/services/$service" params={{ service: objectAddress({ id, namespace }) }}>
    {id}
  </Link>
);

export const PluginLink = ({ id = '' }: OfId) =>
  id === '' ? undefined : (
    <Link to="/storage/plugins/$plugin" params={{ plugin: id }}>
      {id}
    </Link>
  );
