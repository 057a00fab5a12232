#!/bin/bash
# Everything: gets Xen's source, builds the schedulers, compares all of them with domio, and sees that broken
# ones are noticed. Exits with 77 and the reason where that cannot be done here.
# RELEASE: 4.17, 4.14 or 4.20. With 4.14, rules of earlier releases are compared as well (earlier.sh).
# DOMIO: the binary; COUNT, SECONDS_EACH: scenarios for each policy and topology, and their length (200, 30);
# POLICIES, TOPOLOGIES: which; ORACLE_FOLDER: where everything goes (target/oracle).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
folder=${ORACLE_FOLDER:-$root/target/oracle}
export DOMIO=${DOMIO:-$root/target/release/domio}
release=${RELEASE:-4.17}
export ORACLE_BIN=$folder/bin-$release ORACLE_WORK=$folder/work-$release
# Debian's 4.14.6 has what came until 4.16.
case $release in
4.14) version=4.16; earlier="credit2-4.15 credit2-4.14 credit2-4.13 credit2-4.12 credit2-4.10 rtds-4.9 rtds-4.8" ;;
*) version=$release; earlier= ;;
esac
for tool in gcc python3; do
    command -v $tool >/dev/null || { echo "no $tool here" >&2; exit 77; }
done
policies=${POLICIES:-credit credit2 rtds null arinc653}
tree=$("$here/fetch.sh" "$folder/source" "$release")
"$here/build.sh" "$tree" "$ORACLE_BIN" $policies
failed=0
sweep() {
    nice -n 15 python3 "$here/oracle.py" sweep "$@" --count "${COUNT:-200}" --seconds "${SECONDS_EACH:-30}" |
        tee -a "$folder/results.json"
    return "${PIPESTATUS[0]}"
}
: >"$folder/results.json"
# Cases of 4.17 that parted for a reason of the harness: they agree in the order of posting, no other is looked for.
for case in "$here"/cases/*.json; do
    policy=$(basename "$case" | cut -d- -f1)
    case "$release: $policies " in "4.17:"*" $policy "*) ;; *) continue ;; esac
    echo "$(basename "$case"):"
    python3 "$here/oracle.py" one "$case" --no-ties || failed=1
done
for binary in $earlier; do
    case " $policies " in *" ${binary%-*} "*) ;; *) continue ;; esac
    EARLIER=${binary#*-} "$here/build.sh" "$tree" "$ORACLE_BIN" "${binary%-*}"
done
# Everything on one topology. All sweeps are made, also after one that failed.
sweeps() {
    result=0
    for policy in $policies; do
        sweep --policy "$policy" --version "$version" --topology "$1" || result=1
    done
    for binary in $earlier; do
        case " $policies " in *" ${binary%-*} "*) ;; *) continue ;; esac
        sweep --policy "${binary%-*}" --binary "$binary" --version "${binary#*-}" --topology "$1" || result=1
    done
    return $result
}
# Topologies side by side: a sweep has one thread.
running=
for topology in ${TOPOLOGIES:-1x1x1 1x2x1 2x2x1 2x2x2}; do
    sweeps "$topology" &
    running="$running $!"
done
for process in $running; do
    wait "$process" || failed=1
done
nice -n 15 python3 "$here/oracle.py" broken "$tree" --only "$(echo $policies | tr ' ' ,)" --count 40 --seconds 5 || failed=1
exit $failed
