#!/bin/sh
# Becomes Postgres, after making a database cluster whose superuser has the password of POSTGRES_PASSWORD.
set -eu
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  printf '%s' "$POSTGRES_PASSWORD" > /tmp/password
  initdb --username=postgres --pwfile=/tmp/password --auth=scram-sha-256 --encoding=UTF8 "$PGDATA"
  rm /tmp/password
  echo 'host all all all scram-sha-256' >> "$PGDATA/pg_hba.conf"
fi
exec "$@" -c "listen_addresses=*"
