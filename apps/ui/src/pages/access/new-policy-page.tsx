import { getRouteApi, Link } from '@tanstack/react-router';
import buttons from '../../components/buttons.module.css';
import { PageHead } from '../../components/page.js';
import { PolicyForm } from './policy-form.js';

const route = getRouteApi('/access-control/policies/new');

export function NewPolicyPage() {
  const navigate = route.useNavigate();
  return (
    <>
      <PageHead title="New policy" above={<Link to="/access-control/policies">Policies</Link>} />
      <PolicyForm
        onSaved={(policy) =>
          void navigate({ to: '/access-control/policies/$policy', params: { policy }, replace: true })
        }
      >
        <Link to="/access-control/policies" className={buttons['button']}>
          Cancel
        </Link>
      </PolicyForm>
    </>
  );
}
