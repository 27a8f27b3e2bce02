import { getRouteApi, Link } from '@tanstack/react-router';
import buttons from '../../components/buttons.module.css';
import { PageHead } from '../../components/page.js';
import { AuthMethodForm } from './auth-method-form.js';

const route = getRouteApi('/access-control/auth-methods/new');

export function NewAuthMethodPage() {
  const navigate = route.useNavigate();
  return (
    <>
      <PageHead
        title="New auth method"
        above={<Link to="/access-control/auth-methods">Auth methods</Link>}
        about="Another system says who somebody is; binding rules then say what such a login may do."
      />
      <AuthMethodForm
        onSaved={(method) =>
          void navigate({ to: '/access-control/auth-methods/$method', params: { method }, replace: true })
        }
      >
        <Link to="/access-control/auth-methods" className={buttons['button']}>
          Cancel
        </Link>
      </AuthMethodForm>
    </>
  );
}
