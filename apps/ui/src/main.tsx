import { CSPProvider } from '@base-ui/react/csp-provider';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { ApiFailure } from './api/api-failure.js';
import { applyTheme } from './app/theme.js';
import './app/theme.css';
import { router } from './app/router.js';
import { LiveUpdates } from './live/live-updates.js';

const MOST_RETRIES = 2;

/** Answers stay fresh until the event stream says otherwise, so nothing is read again for having been shown again. */
const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: Number.POSITIVE_INFINITY,
      refetchOnWindowFocus: false,
      refetchOnReconnect: false,
      // Worth another attempt: nobody answered, or the server was not well. A refusal stays one.
      retry: (failures, error) =>
        failures < MOST_RETRIES && error instanceof ApiFailure && (error.status === 0 || error.status >= 500),
    },
  },
});

applyTheme();
const place = document.getElementById('pages');
if (place)
  createRoot(place).render(
    <StrictMode>
      <CSPProvider disableStyleElements>
        <QueryClientProvider client={queries}>
          <LiveUpdates>
            <RouterProvider router={router} />
          </LiveUpdates>
        </QueryClientProvider>
      </CSPProvider>
    </StrictMode>,
  );
