/** A job that an empty cluster can run at once: it needs only a shell on a machine with the driver raw_exec. */
export const EXAMPLE = `# A service that says hello, twice.
job "hello" {
  type = "service"

  group "greeter" {
    count = 2

    task "say-hello" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args    = ["-c", "while true; do echo Hello from $NOMAD_ALLOC_NAME; sleep 5 & wait $!; done"]
      }

      resources {
        cpu    = 50
        memory = 32
      }
    }
  }
}
`;
