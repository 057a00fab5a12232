# Sourced by build.sh: takes back, in a copy of a scheduler of Xen 4.14.6 or 4.17, what came after an earlier release,
# so that rules of releases whose source cannot be had are compared with Xen's own code as well. Each expression undoes
# one change, the newest first; the changes are those of crates/domio-sched/src/credit2/rules.rs and rtds/rules.rs.
#   earlier POLICY RELEASE FILE     FILE as it was in RELEASE; fails where an expression changes nothing
before() { [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ] && [ "$1" != "$2" ]; }
undo() {
    sed -z -E "$1" "$file" >"$file.new"
    if cmp -s "$file" "$file.new"; then echo "nothing to take back: $1" >&2; return 2; fi
    mv "$file.new" "$file"
}
earlier() {
    local policy=$1 release=$2 file=$3
    case $policy in
    credit2) earlier_credit2 "$release" ;;
    rtds) earlier_rtds "$release" ;;
    *) echo "nothing is known of earlier releases of $policy" >&2; return 2 ;;
    esac
}
earlier_credit2() {
    local release=$1
    if before "$release" 4.17 && grep -q '|| *$' "$file"; then
        sed -z -E 's/ \|\|\s+opt_runqueue == OPT_RUNQUEUE_ALL//' "$file" >"$file.new" && mv "$file.new" "$file"
    fi
    if before "$release" 4.16; then
        undo 's/if \( !yield && svc->credit <= snext->credit \)\s+break;//'
        undo 's/if \( has_cap\(svc\) && !unit_grab_budget\(svc\) \)\s+continue;/if ( !((yield || svc->credit > snext->credit) \&\& (!has_cap(svc) || unit_grab_budget(svc))) ) break;/'
    fi
    before "$release" 4.15 && undo 's/\s+else\s+update_load\(ops, rqd, snext, 0, now\);//'
    if before "$release" 4.14; then
        undo 's/^/static int oracle_skipped;\n/'
        undo 's/bool yield = false, soft_aff_preempt = false;/bool yield = false, soft_aff_preempt = false; oracle_skipped = 0;/'
        undo 's/(if \( !cpumask_test_cpu\(cpu, svc->unit->cpu_hard_affinity\) \)\s+)continue;/\1{ oracle_skipped++; continue; }/'
        undo 's/SCHED_STAT_CRANK\((deferred_to_tickled_cpu|migrate_resisted)\);/oracle_skipped++;/g'
        undo 's/if \( top_credit <= CSCHED2_CREDIT_RESET \)/if ( oracle_skipped == 0 \&\& snext->credit <= CSCHED2_CREDIT_RESET )/'
        undo 's/if \( unlikely\(val < CSCHED2_CREDIT_MIN\) \)/if ( 0 )/'
        undo 's/(#define CSCHED2_IDLE_CREDIT\s+)\(CSCHED2_CREDIT_MIN-1\)/\1(-(1 << 30))/'
        undo 's/if \( unlikely\(snext->credit == CSCHED2_CREDIT_MIN\) \)\s+reset \+= CSCHED2_CREDIT_INIT;/if ( snext->credit < -CSCHED2_CREDIT_INIT ) reset += -snext->credit \/ CSCHED2_CREDIT_INIT * CSCHED2_CREDIT_INIT;/'
        undo 's/if \( rqd->refcnt < max_cpus_runq[^{]*\{/if ( 1 ) {/'
        undo 's/if \( !rqd_valid \|\| rqd->refcnt < rqd_valid->refcnt \)/if ( !rqd_valid )/'
    fi
    before "$release" 4.13 && undo 's/(\*cpu_siblings = )&csched2_pcpu\(cpu\)->sibling_mask/\1per_cpu(cpu_sibling_mask, cpu)/g'
    if before "$release" 4.11; then
        undo 's/(\/\* Clear the idle mask if necessary \*\/\s+if \( cpumask_test_cpu\(sched_cpu, &rqd->idle\) \)\s+\{[^}]*\})(.*)(snext->start_time = now;\s+snext->tickled_cpu = -1;)/\2\1\3/'
    fi
    return 0
}
earlier_rtds() {
    local release=$1
    if before "$release" 4.10; then
        undo 's/(static inline bool has_extratime\([^)]*\)\s+\{\s+return )[^;]*/\1 0/'
        undo 's/(if \( compare_unit_priority\(svc, iter_svc\) >)( 0 \)\s+break;)/\1=\2/'
        undo 's/compare_unit_priority\(scurr, snext\) > 0/compare_unit_priority(scurr, snext) >= 0/'
    fi
    if before "$release" 4.9; then
        undo 's/cpu = cpumask_test_or_cycle\(sched_unit_master\(new->unit\), not_tickled\);/cpu_to_tickle = sched_unit_master(new->unit); if ( is_idle_unit(curr_on_cpu(cpu_to_tickle)) ) goto out; cpu = cpumask_first(not_tickled);/'
    fi
    return 0
}
