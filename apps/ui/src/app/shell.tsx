import { Link, Outlet, useLocation } from '@tanstack/react-router';
import { useEffect, useRef, useState, useSyncExternalStore } from 'react';
import { currentToken, onTokenChange } from '../api/token.js';
import { PauseBanner } from '../live/pause-banner.js';
import { StreamNotice } from '../live/stream-notice.js';
import icon from './icon.svg';
import { CLUSTER, WORK } from './navigation.js';
import { SearchButton } from './search-button.js';
import { Shortcuts } from './shortcuts.js';
import styles from './shell.module.css';
import { chooseTheme, chosenTheme, type Theme } from './theme.js';

/** What every page stands in: the way to the other pages, and how the page is connected to the cluster. */
export function Shell() {
  return (
    <div className={styles['frame']}>
      <a className={styles['skip']} href="#content">
        Skip to the content
      </a>
      <header className={styles['side']}>
        <Link to="/jobs" className={styles['brand']}>
          <img src={icon} alt="" />
          Waybill
        </Link>
        <SearchButton />
        <Navigation />
        <div className={styles['foot']}>
          <StreamNotice />
          <Caller />
          <ThemeChoice />
          <Shortcuts />
        </div>
      </header>
      <main id="content" tabIndex={-1} className={styles['main']}>
        <PauseBanner />
        <Outlet />
      </main>
    </div>
  );
}

function Navigation() {
  const { pathname } = useLocation();
  const links = useRef<HTMLElement>(null);
  // On a phone the links are one line, which is longer than the screen.
  useEffect(() => {
    const current = links.current?.querySelector('[aria-current="page"]');
    current?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [pathname]);
  return (
    <nav className={styles['links']} aria-label="Pages" ref={links}>
      <Pages of={WORK} />
      <span className={styles['gap']} />
      <Pages of={CLUSTER} />
    </nav>
  );
}

const Pages = ({ of }: { readonly of: typeof WORK | typeof CLUSTER }) =>
  of.map(([to, title]) => (
    <Link key={to} to={to} className={styles['link']}>
      {title}
    </Link>
  ));

function ThemeChoice() {
  const [theme, setTheme] = useState(chosenTheme);
  const choose = (chosen: Theme): void => {
    chooseTheme(chosen);
    setTheme(chosen);
  };
  return (
    <select
      className={styles['theme']}
      aria-label="Theme"
      value={theme}
      onChange={(event) => choose(event.target.value as Theme)}
    >
      <option value="system">System theme</option>
      <option value="light">Light</option>
      <option value="dark">Dark</option>
    </select>
  );
}

function Caller() {
  const token = useSyncExternalStore(onTokenChange, currentToken);
  return (
    <Link to="/settings/tokens" className={styles['caller']}>
      {token === '' ? 'Sign in' : 'Signed in'}
    </Link>
  );
}
