# Sourced by the measurements that bring their own service: the release build on a throw-away
# cluster, removed at the end.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
bench_dir=
service_pid=

finish() {
    if [ -n "$service_pid" ]; then
        kill "$service_pid" 2>/dev/null || true
        wait "$service_pid" 2>/dev/null || true
    fi
    if [ -n "$bench_dir" ]; then
        "$root/script/postgres" control "$bench_dir/db" remove || true
        rm -rf "$bench_dir"
    fi
}
trap finish EXIT
trap 'exit 130' INT TERM

# Builds the service and the example NAME; sets `program`.
build() { # NAME
    "$root/script/postgres" libpq >&2
    cargo build --manifest-path "$root/Cargo.toml" --release --locked --bin sekisho --example "$1" >&2
    program=${CARGO_TARGET_DIR:-$root/target}/release
}

# Starts the service; sets `database_url`, `base_url`, `cluster` and `service_pid`.
serve() { # [NAME=VALUE]...
    bench_dir=$(mktemp -d /tmp/skb-XXXXXX)
    chmod 755 "$bench_dir"
    cluster=$bench_dir/db
    database_url=$("$root/script/postgres" create "$cluster")
    env -i PATH="$PATH" DATABASE_URL="$database_url" LISTEN_ADDRESS=127.0.0.1:0 "$@" \
        "$program/sekisho" >"$bench_dir/log" 2>&1 &
    service_pid=$!
    local _ line
    for _ in $(seq 200); do
        line=$(grep -m1 'listening' "$bench_dir/log" || true)
        if [ -n "$line" ] && grep -q 'the database is ready' "$bench_dir/log"; then
            base_url=http://$(sed -n 's/.*address=\([^ ]*\).*/\1/p' <<<"$line")
            return
        fi
        kill -0 "$service_pid" 2>/dev/null || break
        sleep 0.1
    done
    cat "$bench_dir/log" >&2
    exit 1
}
