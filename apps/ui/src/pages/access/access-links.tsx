import { Link } from '@tanstack/react-router';
import styles from './access.module.css';

export const PolicyLink = ({ name }: { readonly name: string }) => (
  <Link to="/access-control/policies/$policy" params={{ policy: name }} className={styles['link']}>
    {name}
  </Link>
);

export const RoleLink = ({ id, name }: { readonly id: string; readonly name: string }) => (
  <Link to="/access-control/roles/$role" params={{ role: id }} className={styles['link']}>
    {name || id}
  </Link>
);
