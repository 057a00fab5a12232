#!/bin/bash
# Gets the scheduler's source and the headers that it needs out of Debian's package `linux-source-RELEASE`, and prints the
# folder where they were unpacked.
#   fetch.sh FOLDER RELEASE
# RELEASE is 6.1 or 6.12. The machine's own package sources say where the package is. Nothing of the machine is changed:
# the package and what is unpacked stay below FOLDER. Exits with 77 and the reason where the package cannot be had.
set -eu
folder=$1 release=$2
cannot() { echo "$1" >&2; exit 77; }
command -v apt-get >/dev/null || cannot "no apt-get here: the package linux-source-$release is Debian's"
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
tree=$folder/linux-$release
if [ -e "$tree/complete" ]; then echo "$tree"; exit 0; fi
(cd "$folder" && apt-get -o APT::Sandbox::User=root download "linux-source-$release") >"$folder/download.log" 2>&1 ||
    cannot "no linux-source-$release can be had: $(grep '^E:' "$folder/download.log" | head -n 1)"
package=$(find "$folder" -maxdepth 1 -name "linux-source-${release}_*.deb" | sort -V | tail -n 1)
rm -rf "$tree"
mkdir -p "$tree"
top=linux-source-$release
dpkg-deb --fsys-tarfile "$package" | tar xOf - "./usr/src/$top.tar.xz" | xz -dc |
    tar xf - -C "$tree" --strip-components=1 --wildcards "$top/kernel/*.[ch]" "$top/include" "$top/arch/x86/include" \
        "$top/io_uring/*.h" "$top/fs/*.h" "$top/mm/*.h" "$top"/lib/{rbtree,cpumask,find_bit,plist}.c
[ -e "$tree/kernel/sched/fair.c" ] || cannot "$package does not unpack as expected"
basename "$package" | cut -d_ -f2 >"$tree/complete"
rm -f "$package"
echo "$tree"
