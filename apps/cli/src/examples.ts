/** Examples for the help of a command, by its words: a command line without the program's name, and its purpose. */
export const EXAMPLES: Readonly<Record<string, readonly (readonly [line: string, meaning: string])[]>> = {
  'acl auth-method create': [
    [
      'acl auth-method create -name=ci -type=JWT -token-locality=local -max-token-ttl=1h -config=@ci.json',
      'the configuration stands in a file',
    ],
  ],
  'acl auth-method update': [['acl auth-method update -max-token-ttl=8h ci', 'keeps the rest, secrets too']],
  'acl binding-rule create': [
    [
      'acl binding-rule create -auth-method=ci -bind-type=role -bind-name=ops -selector=\'value.team == "ops"\'',
      'the role of a team',
    ],
  ],
  'acl bootstrap': [
    ['acl bootstrap', 'the server makes the secret'],
    ['acl bootstrap root.secret', 'the secret stands in a file'],
  ],
  'acl policy apply': [
    ['acl policy apply -description "may look" readers readers.hcl', 'rules from a file'],
    ['acl policy apply -namespace=default -job=web web-vars vars.hcl', 'for the tasks of a job'],
  ],
  'acl role create': [['acl role create -name=ops -policy=readers -policy=drainers', 'two policies under one name']],
  'acl token create': [
    ['acl token create -name=ci -policy=readers -ttl=8h', 'expires in eight hours'],
    ['acl token create -name=ann -role-name=ops', 'has what a role grants'],
    ['acl token create -name=root2 -type=management', 'may do everything'],
  ],
  'acl token update': [
    ['acl token update -policy=readers -policy=writers 2941eac4-5d1f-4c3a-8b7e-0c9d1e2f3a4b', 'has these policies'],
  ],
  agent: [
    ['agent -dev', 'everything on this machine, gone when it ends'],
    ['agent -client -config=/etc/waybill.d', 'what runs tasks, as files say'],
  ],
  'agent invite': [
    ['agent invite', 'prints what to run on the new machine'],
    ['agent invite -data-dir=/srv/waybill -advertise=10.0.0.7', 'of a cluster elsewhere, reached at that address'],
  ],
  'agent join': [
    ['agent join -data-dir=/var/lib/waybill waybill-join-eyJu', 'with the token that "agent invite" prints'],
    ['agent join -data-dir=/var/lib/waybill', 'once more, after it has joined'],
  ],
  'alloc exec': [
    ['alloc exec -job web /bin/sh', 'a shell beside a task of the job'],
    ['alloc exec -task=proxy 0f9e8d7c cat /etc/hosts', 'one command in a named task'],
  ],
  'alloc logs': [
    ['alloc logs -f 0f9e8d7c', 'its output as it comes'],
    ['alloc logs -stderr -tail -n 20 -job web', 'the last errors of any allocation of the job'],
  ],
  'eval delete': [
    ['eval delete -filter \'JobID matches "^load/" and Status == pending\'', 'while the broker is paused'],
  ],
  'event tail': [
    ['event tail Job Deployment', 'what happens to jobs and deployments from now on'],
    ['event tail -index=oldest -cursor=events.cursor -json', 'everything, and later on from where it ended'],
  ],
  'job action': [
    ['job action -job=web -group=web -task=app flush-cache', 'in any running allocation of the group'],
    ['job action -job=web -alloc=0f9e8d7c flush-cache', 'in this one'],
  ],
  'job dispatch': [['job dispatch -meta user=ann report input.json', 'one more job of a parameterized one']],
  'job plan': [['job plan -var image=v2 web.nomad.hcl', 'what would change, and where it would run']],
  'job restart': [
    ['job restart -batch-size=25% -batch-wait=30s web', 'a quarter at a time'],
    ['job restart -reschedule -yes web', 'other machines may get them; nothing is asked'],
  ],
  'job run': [
    ['job run web.nomad.hcl', 'register it and watch what comes of it'],
    ['job run -detach -var-file=prod.hcl web.nomad.hcl', 'only register it'],
  ],
  'job scale': [['job scale web api 5', 'the group api of the job web']],
  'job status': [
    ['job status', 'all jobs'],
    ['job status -json web', 'one, for programs'],
  ],
  log: [
    ['log -diff job web', 'who changed the job, and what'],
    ['log -at 812 job web', 'the job as it was at that index'],
    ['log -since 1h -actor broker', 'what the broker did in the last hour'],
  ],
  login: [
    ['login', 'with the default method, in the browser'],
    ['login -method=ci -login-token="$CI_JOB_JWT" -t "{{.SecretID}}"', 'with a JWT, printing the secret alone'],
  ],
  'node drain': [
    ['node drain -enable -deadline 30m -m "new disk" 2941eac4', 'everything leaves within half an hour'],
    ['node drain -disable 2941eac4', 'it may be used again'],
  ],
  'operator api': [
    ['operator api /v1/jobs', 'the answer as it is'],
    ["operator api -filter 'Status == dead' /v1/jobs", 'only what matches'],
  ],
  'operator debug': [
    ['operator debug -duration=2m -event-topic=all', 'two minutes, with the events'],
    ['operator debug -node-id=2941eac4 -output=.', 'one node, as a directory here'],
  ],
  'operator snapshot save': [['operator snapshot save before-upgrade.snap', 'the state of the whole cluster']],
  'tls ca create': [['tls ca create', 'makes nomad-agent-ca.pem and its key']],
  'tls cert create': [
    ['tls cert create -server -region global -additional-dnsname=waybill.example.com', 'for the API of a region'],
    ['tls cert create -cli', 'for a person, where the API asks callers for a certificate'],
  ],
  trace: [['trace -f 6b4c1d2e', 'where an evaluation spends its time, while it does']],
};
