import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useState } from 'react';
import { saveAuthMethod } from '../../api/changes.js';
import type { ACLAuthMethod } from '../../api/contract.js';
import { CodeEditor } from '../../components/code/code-editor.js';
import { AccessForm, NameField, textIn } from './access-form.js';
import styles from './access.module.css';
import { CONFIG_EXAMPLES, configText, readConfig } from './auth-method-config.js';

interface AuthMethodFormProps {
  /** The method to change; undefined for a new one. */
  readonly method?: ACLAuthMethod;
  readonly onSaved: (name: string) => void;
  /** Buttons beside the one that saves, such as Cancel. */
  readonly children: ReactNode;
}

/**
 * An auth method, with its configuration as JSON: the same text that `acl auth-method create -config` takes. Secrets
 * read as `redacted`, and the server keeps those that come back so.
 */
export function AuthMethodForm({ method, onSaved, children }: AuthMethodFormProps) {
  const [type, setType] = useState<ACLAuthMethod['Type']>(method?.Type ?? 'OIDC');
  const [config, setConfig] = useState(configText(method?.Config ?? CONFIG_EXAMPLES.OIDC));
  const save = useMutation({
    mutationFn: (values: FormData) =>
      saveAuthMethod(
        {
          Name: method?.Name ?? textIn(values, 'name').trim(),
          Type: type,
          Default: values.has('default'),
          TokenLocality: textIn(values, 'locality') as ACLAuthMethod['TokenLocality'],
          MaxTokenTTL: textIn(values, 'ttl').trim(),
          TokenNameFormat: textIn(values, 'format').trim(),
          Config: readConfig(config),
        },
        method === undefined,
      ),
    onSuccess: ({ Name }) => onSaved(Name),
  });
  const choose = (chosen: ACLAuthMethod['Type']): void => {
    // A changed text stays. An untouched example gives way to the example of the other kind.
    if (config === configText(CONFIG_EXAMPLES[type])) setConfig(configText(CONFIG_EXAMPLES[chosen]));
    setType(chosen);
  };
  return (
    <AccessForm
      save={save}
      label={method === undefined ? 'Create the auth method' : 'Save'}
      aside={children}
      onSubmit={(values) => save.mutate(values)}
    >
      {method === undefined && (
        <>
          <NameField />
          <label>
            Kind
            <select value={type} onChange={({ target }) => choose(target.value as ACLAuthMethod['Type'])}>
              <option value="OIDC">OIDC: people sign in at a provider</option>
              <option value="JWT">JWT: callers bring a token that another system has signed</option>
            </select>
          </label>
        </>
      )}
      <label>
        Tokens last
        <input name="ttl" required defaultValue={method?.MaxTokenTTL ?? '8h'} autoComplete="off" spellCheck={false} />
      </label>
      <label>
        Tokens are valid in
        <select name="locality" defaultValue={method?.TokenLocality ?? 'local'}>
          <option value="local">this region</option>
          <option value="global">all regions</option>
        </select>
      </label>
      <label>
        Names of tokens
        <input
          name="format"
          defaultValue={method?.TokenNameFormat ?? '${auth_method_type}-${auth_method_name}'}
          autoComplete="off"
          spellCheck={false}
        />
      </label>
      <fieldset>
        <legend>Sign-in</legend>
        <label>
          <input type="checkbox" name="default" defaultChecked={method?.Default ?? false} />
          The default, for people who name no method
        </label>
      </fieldset>
      <div className={styles['code']}>
        Configuration
        <CodeEditor label="Configuration" height="few" value={config} onChange={setConfig} />
      </div>
    </AccessForm>
  );
}
