# A configuration file made from a template: values of the job file, of the task's environment, and a loop.
#
#   waybill job run -var 'features={search=true,export=false}' examples/templates.nomad.hcl
#   waybill alloc fs -job templates configured/local/app.conf
#
# Needs nothing but /bin/sh. What stands in ${…} is filled in when the file is read, what stands in {{…}} on the machine,
# just before the task starts.

variable "features" {
  type        = map(bool)
  default     = { search = true }
  description = "Switches of the application, by name."
}

variable "log_level" {
  type    = string
  default = "info"

  validation {
    condition     = contains(["debug", "info", "warn"], var.log_level)
    error_message = "The log level must be debug, info or warn."
  }
}

job "templates" {
  group "app" {
    network {
      port "http" {}
    }

    task "configured" {
      driver = "raw_exec"

      template {
        destination = "local/app.conf"
        data        = <<-EOT
          # {{ env "NOMAD_ALLOC_NAME" }} in {{ env "NOMAD_DC" }}
          listen    = {{ env "NOMAD_PORT_http" }}
          log_level = ${var.log_level}
          ${join("\n", [for name, on in var.features : "feature.${name} = ${on ? "on" : "off"}"])}
        EOT
      }

      config {
        command = "/bin/sh"
        args    = ["-c", "cat local/app.conf; exec sleep 100000"]
      }

      resources {
        cpu    = 50
        memory = 32
      }
    }
  }
}
