#!/bin/sh
# Create a database cluster with POSTGRES_PASSWORD as its superuser's password, then exec Postgres.
# The cluster is created in a separate folder and moved into place when complete, PG_VERSION last, so a killed start is
# resumed by the next one.
set -eu
new="$PGDATA/.new"
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  if [ ! -e "$new/.whole" ]; then
    rm -rf "$new"
    printf '%s\n' "$POSTGRES_PASSWORD" |
      initdb --username=postgres --pwfile=/dev/stdin --auth=scram-sha-256 --encoding=UTF8 "$new"
    echo 'host all all all scram-sha-256' >> "$new/pg_hba.conf"
    : > "$new/.whole"
  fi
  chmod 700 "$PGDATA"
  find "$new" -mindepth 1 -maxdepth 1 ! -name PG_VERSION ! -name .whole -exec mv -t "$PGDATA" {} +
  mv "$new/PG_VERSION" "$PGDATA"
fi
rm -rf "$new"
exec "$@" -c "listen_addresses=*"
