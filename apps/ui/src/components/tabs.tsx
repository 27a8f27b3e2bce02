import type { ReactNode } from 'react';
import styles from './tabs.module.css';

/** Links to the parts of what a page is about; the one that is shown is marked by the router. */
export const Tabs = ({ label, children }: { readonly label: string; readonly children: ReactNode }) => (
  <nav className={styles['tabs']} aria-label={label}>
    {children}
  </nav>
);
