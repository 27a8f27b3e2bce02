# A service with canary updates: two instances that say hello, and a rollout that waits for you.
#
#   waybill job run examples/service.nomad.hcl
#   waybill job run -var greeting=Goodbye examples/service.nomad.hcl   # starts one canary beside the two
#   waybill job promote service                                       # accepts it: the others follow
#
#   waybill job action -job=service -group=greeter -task=hello greet
#
# Needs nothing but /bin/sh.

variable "greeting" {
  type        = string
  default     = "Hello"
  description = "What every instance says."

  validation {
    condition     = trimspace(var.greeting) != ""
    error_message = "The greeting must say something."
  }
}

job "service" {
  type = "service"

  update {
    max_parallel     = 1
    canary           = 1
    min_healthy_time = "2s"
    healthy_deadline = "1m"
    auto_revert      = true
  }

  group "greeter" {
    count = 2

    restart {
      attempts = 3
      interval = "1m"
      delay    = "1s"
      mode     = "delay"
    }

    task "hello" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args    = ["-c", "while true; do echo \"$GREETING from $NOMAD_ALLOC_NAME\"; sleep 5 & wait $!; done"]
      }

      env {
        GREETING = var.greeting
        NODE     = "${node.unique.name}"
      }

      # A command that is kept ready: `job action` runs it beside the task.
      action "greet" {
        command = "/bin/sh"
        args    = ["-c", "echo \"$GREETING to whoever asks, from $NOMAD_ALLOC_NAME\""]
      }

      resources {
        cpu    = 50
        memory = 32
      }
    }
  }
}
