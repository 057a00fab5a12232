#!/bin/bash
# Gets the source of a release of Xen from Debian's source package and prints the folder where it was unpacked.
#   fetch.sh FOLDER [RELEASE]
# RELEASE is 4.17 (bookworm), 4.14 (bullseye) or 4.20 (trixie). The machine's own package sources say where bookworm's
# is; those of the others are Debian's. Nothing of the machine is changed: lists, caches and the package stay below
# FOLDER. Exits with 77 and the reason where the package cannot be had.
set -eu
release=${2:-4.17}
case $release in
4.14) suite=bullseye ;;
4.17) suite= ;;
4.20) suite=trixie ;;
*) echo "no suite of Debian is known to have xen $release" >&2; exit 2 ;;
esac
folder=$1${suite:+/$suite}
mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial"
folder=$(cd "$folder" && pwd)
cannot() { echo "$1" >&2; exit 77; }
unpacked() { find "$folder" -mindepth 1 -maxdepth 1 -type d -name "xen-$release*" | head -n 1; }
if [ -n "$(unpacked)" ]; then unpacked; exit 0; fi
command -v apt-get >/dev/null || cannot "no apt-get here: the source package of xen is Debian's"
sources=$folder/debian.sources
list=$folder/debian.list
: >"$list"
rm -f "$sources"
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    # `deb` lines become `deb-src` lines.
    [ -e "$file" ] && sed -nE 's/^deb(-src)? (.*)/deb-src \2/p' "$file" >>"$list"
done
for file in /etc/apt/sources.list.d/*.sources; do
    [ -e "$file" ] && { sed -E 's/^Types:.*/Types: deb-src/' "$file"; echo; } >>"$sources"
done
if [ -n "$suite" ]; then
    rm -f "$sources"
    echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $suite main" >"$list"
fi
parts=$folder/parts
rm -rf "$parts"; mkdir -p "$parts"
[ -s "$list" ] && mv "$list" "$parts/"
[ -s "$sources" ] && mv "$sources" "$parts/"
options=(-o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$parts" -o "Dir::State::lists=$folder/lists"
    -o "Dir::Cache=$folder/cache" -o APT::Sandbox::User=root)
apt-get "${options[@]}" update >"$folder/update.log" 2>&1 || cannot "apt-get update: $(tail -n 1 "$folder/update.log")"
versions=$(apt-cache "${options[@]}" showsrc xen 2>/dev/null | sed -n "s/^Version: \(${release/./\\.}.*\)/\1/p" | sort -rV | uniq)
[ -n "$versions" ] || cannot "the package sources have no xen $release"
for version in $versions; do
    # The newest one is not always where the list says. What is wanted is the original source alone.
    (cd "$folder" && apt-get "${options[@]}" source --download-only "xen=$version") >"$folder/source.log" 2>&1 || true
    if compgen -G "$folder/xen_${version%-*}.orig.tar.*" >/dev/null; then
        (cd "$folder" && tar xf "xen_${version%-*}.orig.tar."*)
        [ -n "$(unpacked)" ] || cannot "xen $version does not unpack as expected"
        unpacked
        exit 0
    fi
done
cannot "no version of xen could be fetched: $(grep '^E:' "$folder/source.log" | head -n 1)"
