# A task with tokens of Vault and Consul, which its machine gets by the task's identity.
#
#   waybill job run examples/vault.nomad.hcl
#   waybill alloc logs -job vault
#
# Needs nothing but /bin/sh, and Vault and Consul that the API and the machine know: docs/secrets.md has the settings.

job "vault" {
  group "main" {
    consul {}

    task "main" {
      driver = "raw_exec"

      vault {
        role        = "tasks"
        change_mode = "signal" # a new token is in the file; the task may read it again
      }

      config {
        command = "/bin/sh"
        args = ["-c", <<-END
          trap 'echo "a new token of Vault"' HUP
          echo "Vault is at $VAULT_ADDR, Consul at $CONSUL_HTTP_ADDR"
          ls -l "$NOMAD_SECRETS_DIR/vault_token" "$NOMAD_SECRETS_DIR/consul_token"
          while :; do sleep 1; done
        END
        ]
      }
    }
  }
}
