# A job that reads a password from a variable by its own identity, and restarts when the password changes.
#
#   waybill var put nomad/jobs/billing password=first
#   waybill job run examples/secret.nomad.hcl
#   waybill var put -force nomad/jobs/billing password=second
#   waybill alloc logs -job billing
#
# Needs nothing but /bin/sh. The job may read nomad/jobs/billing because that is its name (docs/secrets.md).

job "billing" {
  group "app" {
    task "app" {
      driver = "raw_exec"

      template {
        destination = "secrets/db.env"
        env         = true
        change_mode = "restart"
        splay       = "0s"
        data        = <<-EOT
          {{ with nomadVar "nomad/jobs/billing" }}DB_PASSWORD={{ .password }}{{ end }}
        EOT
      }

      config {
        command = "/bin/sh"
        args    = ["-c", "echo \"connecting with a password of $${#DB_PASSWORD} characters\"; exec sleep 86400"]
      }

      kill_timeout = "1s"

      resources {
        cpu    = 20
        memory = 16
      }
    }
  }
}
