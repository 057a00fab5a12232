#!/bin/bash
# Builds the oracle out of what fetch.sh has unpacked.
#   build.sh TREE RELEASE OUT
# The program is OUT/oracle-RELEASE. BREAK: a sed expression that breaks fair.c on purpose, for OUT/oracle-RELEASE-$AS.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tree=$1 release=$2 out=$3
name=$release${AS:+-$AS}
made=$out/made-$name
rm -rf "$made"
mkdir -p "$made/asm" "$made/kernel/sched"
# Headers that the kernel's own build would make.
for folder in include/asm-generic include/uapi/asm-generic; do
    for header in "$tree/$folder"/*.h; do
        header=$(basename "$header")
        [ -e "$tree/arch/x86/include/asm/$header" ] || [ -e "$tree/arch/x86/include/uapi/asm/$header" ] ||
            echo "#include <asm-generic/$header>" >"$made/asm/$header"
    done
done
for header in unistd_64 unistd_64_x32 unistd_32_ia32; do : >"$made/asm/$header.h"; done
printf '#define RELEASE %d%02d\n' "${release%.*}" "${release#*.}" >"$made/release.h"
cp "$tree/kernel/sched/fair.c" "$made/kernel/sched/fair.c"
if [ -n "${BREAK:-}" ]; then
    sed -E "$BREAK" "$tree/kernel/sched/fair.c" >"$made/kernel/sched/fair.c"
    ! cmp -s "$tree/kernel/sched/fair.c" "$made/kernel/sched/fair.c" || { echo "nothing breaks by $BREAK" >&2; exit 2; }
fi
compile() {
    gcc -c -o "$made/$(basename "$1" .c).o" -std=gnu11 -O2 -w -fno-strict-aliasing -fshort-wchar -fno-PIE -mno-sse \
        -ffreestanding -fno-stack-protector -fms-extensions -ffunction-sections -fdata-sections -nostdinc \
        -isystem "$(gcc -print-file-name=include)" -D__KERNEL__ -DMEND_SLICES '-DKBUILD_MODNAME="shim"' \
        '-DKBUILD_BASENAME="shim"' '-DKBUILD_MODFILE="shim"' "-I$made" "-I$here" "-I$here/shim" \
        "-I$tree/arch/x86/include" "-I$tree/arch/x86/include/uapi" "-I$tree/include" "-I$tree/include/uapi" "-I$tree" \
        "-I$tree/kernel/sched" -include "$tree/include/linux/kconfig.h" -include "$tree/include/linux/compiler_types.h" \
        "$1"
}
for file in "$here"/{core,fair,shim}.c "$tree"/kernel/sched/build_{policy,utility}.c \
    "$tree"/lib/{rbtree,cpumask,find_bit,plist}.c; do
    compile "$file"
done
gcc -O2 -c -o "$made/main.o" "$here/main.c"
# What no operation reaches is not there.
gcc -no-pie -o "$out/oracle-$name" "$made"/*.o "-Wl,-T,$here/shim/layout.ld" -Wl,--gc-sections \
    -Wl,--unresolved-symbols=ignore-all
