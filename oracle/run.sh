#!/bin/bash
# Everything: gets Xen's source, builds the schedulers, compares all of them with domio, and sees that broken
# ones are noticed. Exits with 77 and the reason where that cannot be done here.
# DOMIO: the binary; COUNT, SECONDS_EACH: scenarios for each policy and topology, and their length (200, 30);
# POLICIES, TOPOLOGIES: which; ORACLE_FOLDER: where everything goes (target/oracle).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
folder=${ORACLE_FOLDER:-$root/target/oracle}
export DOMIO=${DOMIO:-$root/target/release/domio}
export ORACLE_BIN=$folder/bin ORACLE_WORK=$folder/work
for tool in gcc python3; do
    command -v $tool >/dev/null || { echo "no $tool here" >&2; exit 77; }
done
policies=${POLICIES:-credit credit2 rtds null arinc653}
tree=$("$here/fetch.sh" "$folder/source")
"$here/build.sh" "$tree" "$ORACLE_BIN" $policies
failed=0
: >"$folder/results.json"
for policy in $policies; do
    for topology in ${TOPOLOGIES:-1x1x1 1x2x1 2x2x1 2x2x2}; do
        nice -n 15 python3 "$here/oracle.py" sweep --policy "$policy" --topology "$topology" \
            --count "${COUNT:-200}" --seconds "${SECONDS_EACH:-30}" | tee -a "$folder/results.json" || true
        [ "${PIPESTATUS[0]}" = 0 ] || failed=1
    done
done
nice -n 15 python3 "$here/oracle.py" broken "$tree" --only "$(echo $policies | tr ' ' ,)" --count 40 --seconds 5 || failed=1
exit $failed
