#!/bin/bash
# Builds the oracle out of the schedulers in an unpacked tree of Debian's source package `xen`, 4.14 or later.
#   build.sh TREE OUT POLICY...
# POLICY is credit, credit2, rtds, null or arinc653. Binaries are OUT/oracle-POLICY; what is taken out of the
# tree stays below OUT. BREAK: a sed expression that breaks the scheduler on purpose, for OUT/oracle-POLICY-$AS.
# EARLIER: the release whose rules the scheduler is to have instead (earlier.sh), for OUT/oracle-POLICY-$EARLIER.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/earlier.sh"
AS=${AS:-${EARLIER:-}}
tree=$1; out=$2; shift 2
[ -d "$tree/xen/common/sched" ] || { echo "$tree is no unpacked tree of Xen 4.14 or later" >&2; exit 2; }
mkdir -p "$out"
[ "$out/same" -nt "$here/same.c" ] || gcc -O2 -o "$out/same" "$here/same.c"
for policy in "$@"; do
    file=$policy
    case $policy in
    credit | credit2 | null | arinc653) ;;
    rtds) file=rt ;;
    *) echo "the harness does not know $policy" >&2; exit 2 ;;
    esac
    binary=oracle-$policy${AS:+-$AS}
    dir=$out/taken-${binary#oracle-}
    rm -rf "$dir"; mkdir -p "$dir/inc/xen" "$dir/inc/asm" "$dir/inc/public"
    cp "$tree/xen/common/sched/$file.c" "$dir/policy.c"
    cp "$tree/xen/common/sched/private.h" "$dir/private.h"
    cp "$tree/xen/include/xen/list.h" "$dir/inc/xen/list.h"
    if [ -n "${EARLIER:-}" ]; then earlier "$policy" "$EARLIER" "$dir/policy.c"; fi
    if [ -n "${BREAK:-}" ]; then
        sed -E "$BREAK" "$dir/policy.c" >"$dir/broken.c"
        if cmp -s "$dir/policy.c" "$dir/broken.c"; then echo "$policy: nothing breaks by $BREAK" >&2; exit 2; fi
        mv "$dir/broken.c" "$dir/policy.c"
    fi
    # Every header is the shim, but for lists and the scheduler interface.
    for h in $(grep -ho '#include <[^>]*>' "$dir"/policy.c "$dir"/private.h "$dir"/inc/xen/list.h |
        sed 's/.*<//; s/>//' | sort -u); do
        mkdir -p "$dir/inc/$(dirname "$h")"
        [ -e "$dir/inc/$h" ] || : >"$dir/inc/$h"
    done
    # What came with some release: timers that follow their pcpus (4.15).
    has=()
    grep -q move_timers "$dir/private.h" && has+=(-DHAS_MOVE_TIMERS)
    entry=$(sed -n 's/^REGISTER_SCHEDULER(\(.*\));/\1_entry/p' "$dir/policy.c")
    gcc -std=gnu11 -O2 -g -w -fno-strict-aliasing "-DPOLICY_DEF=(*$entry)" "-DPOLICY_$policy" "${has[@]}" \
        -include "$here/shim/shim.h" -I"$dir" -I"$dir/inc" -I"$here/shim" -I"$here" \
        -o "$out/$binary" "$here/harness.c"
done
