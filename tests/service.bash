# Sourced by tests that ask a whole service: starts one on this machine, on a free port and an empty
# folder, and ends it with the script. Leaves $url, $work (a folder that goes) and operate(). Its arguments
# and variables, besides those below, may stand in the arrays service_options and service_environment, and a
# folder to begin with in service_data; the profile
# that it was built with in service_profile, if there is no operate(), and what builds it in service_target.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
built=${CARGO_TARGET_DIR:-$root/target}/${service_profile:-debug}
[[ -x $built/vedette ]] ||
    { echo "'make ${service_target:-$(basename "$(dirname "$0")")}' builds what is missing in $built" >&2; exit 1; }

[[ -v service_environment ]] || service_environment=()
[[ -v service_options ]] || service_options=()
work=$(mktemp -d)
pid=
finish() {
    local code=$?
    if [[ -n $pid ]]; then
        kill "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    fi
    # The output of the service is of interest only if something went wrong.
    if ((code != 0)) && [[ -s $work/log ]]; then
        echo "--- the service's log:" >&2
        tail -n 40 "$work/log" >&2
    fi
    rm -rf "$work"
    exit "$code"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# The caller can pass a folder that is not empty.
[[ ! -v service_data ]] || cp -a "$service_data" "$work/data"
# Read from at once.
touch "$work/out"
# The service sends no requests to other machines, and audits no pages.
env -i PATH="$PATH" VEDETTE_THROTTLE=4000000000 VEDETTE_ALLOW_TARGETS=127.0.0.0/8 VEDETTE_ALLOW_RECEIVERS=127.0.0.0/8 \
    VEDETTE_DOH=nobody=https://127.0.0.1:1/dns-query VEDETTE_RDAP=none VEDETTE_AUDITOR=none \
    "${service_environment[@]}" \
    "$built/vedette" serve --data "$work/data" --listen 127.0.0.1:0 --token --quiet "${service_options[@]}" \
    >"$work/out" 2>"$work/log" &
pid=$!
said() { sed -n "s,^ *$1  *http://\([^ ]*\).*,\1,p" "$work/out"; }
for _ in {1..300}; do
    [[ -z $(said API) ]] || break
    kill -0 "$pid" 2>/dev/null || { echo "the service did not start" >&2; exit 1; }
    sleep 0.1
done
url=http://$(said API)
[[ $url != http:// ]] || { echo "the service did not say where it is" >&2; exit 1; }

operate() { env -i PATH="$PATH" VEDETTE_DATA="$work/data" "$built/vedette" --json "$@"; }
