/** The reader's choice of colours; `system` follows the operating system. */
export type Theme = 'system' | 'light' | 'dark';

const KEY = 'waybill.theme';

export function chosenTheme(): Theme {
  const stored = localStorage.getItem(KEY);
  return stored === 'light' || stored === 'dark' ? stored : 'system';
}

const listeners = new Set<() => void>();
let version = 0;

/** Changes whenever the colours may have changed, for drawings that do not follow the style sheet. */
export const themeVersion = (): number => version;

/** @returns a function that stops listening */
export function onThemeChange(tell: () => void): () => void {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const changed = (): void => {
    version++;
    tell();
  };
  listeners.add(changed);
  dark.addEventListener('change', changed);
  return () => {
    listeners.delete(changed);
    dark.removeEventListener('change', changed);
  };
}

export function chooseTheme(theme: Theme): void {
  localStorage.setItem(KEY, theme);
  applyTheme();
  for (const tell of listeners) tell();
}

export function applyTheme(): void {
  const theme = chosenTheme();
  if (theme === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
}
