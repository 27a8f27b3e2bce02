import { useSyncExternalStore } from 'react';
import { currentToken, onTokenChange } from '../api/token.js';
import { useNow } from '../components/clock.js';
import { useStreamStatus } from './live-updates.js';
import styles from './stream-notice.module.css';
import { noticeOf } from './stream-words.js';

/** Whether what the page shows is what there is, and since when it may not be. */
export function StreamNotice() {
  const token = useSyncExternalStore(onTokenChange, currentToken);
  const { tone, text } = noticeOf(useStreamStatus(), useNow(), token !== '');
  return (
    <div className={`${styles['notice']} ${styles[tone]}`} role="status">
      <span className={styles['dot']} aria-hidden="true" />
      <span>{text}</span>
    </div>
  );
}
