/** The file of `job init`. It runs on any machine with a shell. */
export const EXAMPLE_JOB = `# A job says what should run. Show what it would do with "plan", start it with "run":
#
#   waybill job plan example.nomad.hcl
#   waybill job run example.nomad.hcl
#   waybill job status example

# Values that may differ from one run to the next: waybill job run -var greeting=Hi example.nomad.hcl
variable "greeting" {
  type    = string
  default = "Hello"
}

job "example" {
  # "service" runs until stopped; "batch" until done; "system" once on every machine.
  type = "service"

  # Where it may run; "*" is every datacenter.
  datacenters = ["*"]

  # How a new version comes out: one instance at a time, the next when this one has been healthy for ten seconds.
  update {
    max_parallel     = 1
    min_healthy_time = "10s"
    healthy_deadline = "5m"
    auto_revert      = true
  }

  # A group is a set of tasks that always run together on one machine.
  group "greeter" {
    # How many instances of the group.
    count = 1

    # What happens when a task fails: it is started again where it is, at most twice in half an hour.
    restart {
      attempts = 2
      interval = "30m"
      delay    = "15s"
      mode     = "fail"
    }

    # A task is one process. The driver starts it: raw_exec without any isolation.
    task "hello" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args    = ["-c", "while true; do echo \\"$GREETING from $NODE\\"; sleep 5 & wait $!; done"]
      }

      # Known only when the machine is: names that the file does not define are left for that moment.
      env {
        GREETING = var.greeting
        NODE     = "\${node.unique.name}"
      }

      # What the scheduler sets aside: MHz and megabytes.
      resources {
        cpu    = 50
        memory = 32
      }
    }
  }
}
`;

export const SHORT_EXAMPLE_JOB = `job "example" {
  group "greeter" {
    task "hello" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args    = ["-c", "while true; do echo hello; sleep 5 & wait $!; done"]
      }
    }
  }
}
`;
