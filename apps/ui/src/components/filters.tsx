import type { ReactNode } from 'react';
import styles from './filters.module.css';

export const Filters = ({ children }: { readonly children: ReactNode }) => (
  <form className={styles['filters']} role="search" onSubmit={(event) => event.preventDefault()}>
    {children}
  </form>
);

interface SearchFieldProps {
  readonly label: string;
  readonly value: string | undefined;
  readonly onChange: (value: string) => void;
}

export const SearchField = ({ label, value = '', onChange }: SearchFieldProps) => (
  <input
    type="search"
    className={styles['search']}
    aria-label={label}
    placeholder={label}
    value={value}
    onChange={(event) => onChange(event.target.value)}
  />
);

interface ChoiceProps extends SearchFieldProps {
  /** What stands for no choice: `All states`. */
  readonly all: string;
  readonly options: readonly string[];
}

/** One of several, or all. A value of the address that is no option stays visible. */
export function Choice({ label, all, value = '', options, onChange }: ChoiceProps) {
  const shown = value === '' || options.includes(value) ? options : [...options, value];
  return (
    <select
      className={styles['choice']}
      aria-label={label}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    >
      <option value="">{all}</option>
      {shown.map((option) => (
        <option key={option}>{option}</option>
      ))}
    </select>
  );
}
