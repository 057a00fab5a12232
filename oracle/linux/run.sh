#!/bin/bash
# Everything: gets the kernels' source, builds the oracles, compares the policies cfs and eevdf with them, and sees that
# broken ones are noticed. Exits with 77 and the reason where that cannot be done here.
# RELEASES: which (6.1 6.12); COUNT, SECONDS_EACH: scenarios and their length (200, 10); FIRST: the first seed;
# PROFILE: how the comparison is built (release); ORACLE_FOLDER: where everything goes (target/oracle/linux).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
folder=${ORACLE_FOLDER:-$root/target/oracle/linux}
for tool in gcc xz dpkg-deb; do
    command -v $tool >/dev/null || { echo "no $tool here" >&2; exit 77; }
done
[ "$(uname -m)" = x86_64 ] || { echo "the oracle is built of the kernel's headers for x86-64" >&2; exit 77; }
compare() { # PROGRAM RELEASE COUNT PCPUS WITH
    (cd "$root" && LINUX_ORACLE=$folder/oracle-$1 LINUX_ORACLE_RELEASE=$2 LINUX_ORACLE_COUNT=$3 LINUX_ORACLE_PCPUS=$4 \
        LINUX_ORACLE_WITH=$5 LINUX_ORACLE_FIRST=${FIRST:-1} LINUX_ORACLE_SECONDS=${SECONDS_EACH:-10} \
        cargo test -q --profile "${PROFILE:-release}" --package domio-sched --lib -- --ignored --nocapture \
        linux::tests::kernel)
}
# One rule of fair.c, as somebody might get it wrong.
broken() {
    case $1 in
    6.1) cat <<'B'
credit s/thresh >>= 1;/thresh >>= 2;/
granularity s/if \(vdiff > gran\)/if (vdiff > 2 * gran)/
buddy s/if \(task_sleep \&\& se \&\& !throttled_hierarchy\(cfs_rq\)\)/if (0)/
slack s/min_cfs_rq_runtime = 1 \* NSEC_PER_MSEC/min_cfs_rq_runtime = 2 * NSEC_PER_MSEC/
B
        ;;
    6.12) cat <<'B'
lag s/max_t\(u64, 2\*se->slice, TICK_NSEC\)/max_t(u64, 2*se->slice, 2 * TICK_NSEC)/
delay s/if \(sched_feat\(DELAY_ZERO\) \&\& se->vlag > 0\)/if (0)/
buddy s/if \(task_sleep \&\& se \&\& !throttled_hierarchy\(cfs_rq\)\)/if (0)/
slack s/min_cfs_rq_runtime = 1 \* NSEC_PER_MSEC/min_cfs_rq_runtime = 2 * NSEC_PER_MSEC/
B
        ;;
    esac
}
failed=0
mkdir -p "$folder"
for release in ${RELEASES:-6.1 6.12}; do
    tree=$("$here/fetch.sh" "$folder/source" "$release")
    "$here/build.sh" "$tree" "$release" "$folder"
    echo "linux-source-$release $(cat "$tree/complete")"
    compare "$release" "$release" "${COUNT:-200}" 1 quotas,changes,groups || failed=1
    LINUX_ORACLE_AVERAGES=1 compare "$release" "$release" "$((${COUNT:-200} / 5))" 4 quotas,changes,groups || failed=1
    while read -r name expression; do
        AS=$name BREAK=$expression "$here/build.sh" "$tree" "$release" "$folder"
        if compare "$release-$name" "$release" 30 1 quotas,changes,groups >"$folder/$release-$name.log" 2>&1 </dev/null ||
            ! grep -q '^seed .* differs' "$folder/$release-$name.log"; then
            echo "$release with $name broken: NOT NOTICED"
            failed=1
        else
            echo "$release with $name broken: noticed, $(grep -m 1 -o '^seed [0-9]*' "$folder/$release-$name.log")"
        fi
    done < <(broken "$release")
done
exit $failed
