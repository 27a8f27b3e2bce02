import { getRouteApi, Link } from '@tanstack/react-router';
import buttons from '../../components/buttons.module.css';
import { PageHead } from '../../components/page.js';
import { TokenForm } from './token-form.js';

const route = getRouteApi('/access-control/tokens/new');

export function NewTokenPage() {
  const navigate = route.useNavigate();
  return (
    <>
      <PageHead title="New token" above={<Link to="/access-control/tokens">Tokens</Link>} />
      <TokenForm
        onSaved={(accessor) =>
          void navigate({ to: '/access-control/tokens/$accessor', params: { accessor }, replace: true })
        }
      >
        <Link to="/access-control/tokens" className={buttons['button']}>
          Cancel
        </Link>
      </TokenForm>
    </>
  );
}
