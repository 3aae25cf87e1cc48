#!/bin/sh
# Each header must compile alone, and the frozen vectors must hold, as C11 and as C++20, by gcc and by clang.
# Usage: compile_alone.sh SOURCE-DIR XXHASH-INCLUDE-DIR. Ends with 77 (skipped) when one of the compilers is missing.
set -eu
source=$1
flags="-D_GNU_SOURCE -O2 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -I$source/include -isystem $2"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for compiler in gcc clang; do
    command -v "$compiler" > /dev/null || { echo "no $compiler"; exit 77; }
    for language in c11 c++20; do
        case $language in
            c11) as="-x c -std=c11" ;;
            *) as="-x c++ -std=c++20" ;;
        esac
        for header in "$source"/include/shmbloom/*.h; do
            # The declaration: C wants one in every file, and version.h has none.
            printf '#include "shmbloom/%s"\nextern int alone;\n' "$(basename "$header")" | $compiler $as $flags -fsyntax-only -
        done
        $compiler $as $flags -o "$work/vectors" "$source/tests/format/vectors.c"
        echo "$compiler $language: $("$work/vectors")"
    done
done
