# Installs the Debian package $1 and uses what is in it.
no_compiler() {
    for tool in cc gcc ld rustc cargo; do
        if command -v "$tool"; then
            echo "this Debian has $tool" >&2
            exit 1
        fi
    done
}
present() {
    for file in "$@"; do
        test -s "$file" || {
            echo "there is no $file" >&2
            exit 1
        }
    done
}
no_compiler
dpkg --install "$1"
dpkg --verify domio
domio --version

present /usr/share/bash-completion/completions/domio /usr/share/zsh/vendor-completions/_domio \
    /usr/share/fish/vendor_completions.d/domio.fish /usr/share/doc/domio/copyright \
    /usr/share/man/man1/domio.1.gz /usr/share/man/man1/domio-run.1.gz
bash -euc '. /usr/share/bash-completion/completions/domio; complete -p domio'
gzip --decompress --stdout /usr/share/man/man1/domio.1.gz | grep -m 1 '^\.TH domio'

domio demo
present out/demo.html
domio run small-host --no-results >figures.txt
present figures.txt

dpkg --purge domio
if test -e /usr/bin/domio || test -e /usr/share/doc/domio; then
    echo "the package leaves files behind" >&2
    exit 1
fi
