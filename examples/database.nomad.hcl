# A database with a volume, as job files wrote it for years: the port belongs to the task, `port_map` says where it is
# inside the container. New job files use a group's network and `ports` (web-proxy.nomad.hcl).
#
#   mkdir -p /srv/orders && WAYBILL_HOST_VOLUMES=orders=/srv/orders …   # on the machine of the database, before its agent starts
#   waybill job run examples/database.nomad.hcl
#   psql -h <address of the machine> -U orders
#
# Needs a machine with Docker and the host volume "orders".

job "orders-db" {
  datacenters = ["dc1"]
  type        = "service"

  group "db" {
    count = 1

    volume "data" {
      type      = "host"
      source    = "orders"
      read_only = false
    }

    restart {
      attempts = 10
      interval = "5m"
      delay    = "5s"
      mode     = "delay"
    }

    task "postgres" {
      driver = "docker"

      volume_mount {
        volume      = "data"
        destination = "/var/lib/postgresql/data"
        read_only   = false
      }

      env = {
        POSTGRES_USER     = "orders"
        POSTGRES_PASSWORD = "change-me"
        PGDATA            = "/var/lib/postgresql/data/pgdata"
      }

      config {
        image = "postgres:16"

        port_map {
          db = 5432
        }
      }

      resources {
        cpu    = 100
        memory = 64

        network {
          mbits = 10

          port "db" {
            static = 5432
          }
        }
      }

      service {
        name     = "orders-db"
        tags     = ["db"]
        port     = "db"
        provider = "nomad"

        check {
          name     = "alive"
          type     = "tcp"
          interval = "2s"
          timeout  = "2s"
        }
      }
    }
  }
}
