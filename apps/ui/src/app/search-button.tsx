import { lazy, Suspense, useEffect, useState } from 'react';
import styles from './shell.module.css';

const Finder = lazy(async () => ({ default: (await import('../pages/search/finder.js')).Finder }));

/** Opens the search, as ⌘K and Ctrl K do. It is loaded when it is first opened. */
export function SearchButton() {
  const [wasOpened, setOpened] = useState(false);
  const [isOpen, setOpen] = useState(false);
  const open = (): void => {
    setOpened(true);
    setOpen(true);
  };
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== 'k' || !(event.metaKey || event.ctrlKey)) return;
      event.preventDefault();
      setOpened(true);
      setOpen(true);
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  }, []);
  return (
    <>
      <button type="button" className={styles['search']} onClick={open}>
        Search <kbd>Ctrl K</kbd>
      </button>
      {wasOpened && (
        <Suspense>
          <Finder isOpen={isOpen} close={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  );
}
