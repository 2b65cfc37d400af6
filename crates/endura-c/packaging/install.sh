#!/bin/sh
# Builds and installs the libraries, the headers, and what finds them: install.sh PREFIX [LIBDIR]
#
# It needs cargo, and binutils (`ld`, `objcopy`, `ar`); a C compiler only as far as cargo needs one to link. DESTDIR is put before
# the paths of files, as packagers expect. CARGO_TARGET_DIR is where cargo builds. If ENDURA_BUILT names a folder with
# libendura_c.so and libendura_c.a, these are installed, and nothing is built.
set -eu
prefix=${1:?"usage: install.sh PREFIX [LIBDIR]"}
libdir=${2:-$1/lib}
crate=$(cd "$(dirname "$0")/.." && pwd)
root=$(cd "$crate/../.." && pwd)
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' "$root/Cargo.toml")
# As `build.rs` has it: before 1.0 each minor version may break programs, from then on each major one.
case $version in
0.*) abi=0.$(echo "$version" | cut -d. -f2) ;;
*) abi=${version%%.*} ;;
esac

cd "$root"
built=${ENDURA_BUILT:-}
if [ -z "$built" ]; then
  cargo build --release --locked -p endura-c
  built=${CARGO_TARGET_DIR:-target}/release
fi
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT

lib=${DESTDIR:-}$libdir
include=${DESTDIR:-}$prefix/include
mkdir -p "$lib/pkgconfig" "$lib/cmake/endura" "$include/endura"
objcopy --strip-unneeded "$built/libendura_c.so" "$work/libendura.so"
install -m 755 "$work/libendura.so" "$lib/libendura.so.$version"
ln -sf "libendura.so.$version" "$lib/libendura.so.$abi"
ln -sf "libendura.so.$abi" "$lib/libendura.so"

# The static library is one object that shows the names of the header alone, so that it links beside another library in Rust.
# The personality routine is renamed first: its reference `DW.ref...` is shared by all objects of a program, and cannot be
# local. Bitcode of the standard library is left out: `ar` fails on it where its plugin belongs to another LLVM.
ld -r --strip-debug -o "$work/all.o" --whole-archive "$built/libendura_c.a"
objcopy -R '.llvm*' --redefine-sym rust_eh_personality=endura_eh_personality \
  --redefine-sym DW.ref.rust_eh_personality=DW.ref.endura_eh_personality "$work/all.o"
objcopy --wildcard --keep-global-symbol='endura_*' --keep-global-symbol='DW.ref.endura_*' "$work/all.o"
objcopy --localize-symbol=endura_eh_personality "$work/all.o" "$work/endura.o"
rm -f "$lib/libendura.a"
ar rcs "$lib/libendura.a" "$work/endura.o"

install -m 644 "$crate/include/endura.h" "$crate/include/endura.hpp" "$include"
install -m 644 "$crate"/include/endura/*.hpp "$include/endura"
# NAME:FOLDER
for file in endura.pc:pkgconfig endura-config.cmake:cmake/endura endura-config-version.cmake:cmake/endura; do
  name=${file%%:*}
  sed -e "s|@PREFIX@|$prefix|g; s|@LIBDIR@|$libdir|g; s|@VERSION@|$version|g; s|@ABI@|$abi|g" \
    "$crate/packaging/$name.in" >"$lib/${file##*:}/$name"
done
