#!/usr/bin/env bash
# Installs the built library into a temporary prefix and uses it in every way a client may.
# Usage: run.sh <build-dir> <source-dir>
# Prints one line per check, the output of failed checks, and a count; fails if any check failed.
set -u

if [ $# -ne 2 ]; then
  echo "usage: $0 <build-dir> <source-dir>" >&2
  exit 2
fi
build=$(cd "$1" && pwd) || exit 2
source=$(cd "$2" && pwd) || exit 2
here=$source/tests/install
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

# Compilers and generator of the library's own build; nothing else is inherited.
cached() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt" | head -n 1; }
cc=$(cached CMAKE_C_COMPILER)
cxx=$(cached CMAKE_CXX_COMPILER)
export CC=${cc:-cc} CXX=${cxx:-c++}
generator=$(cached CMAKE_GENERATOR)
unset CPATH C_INCLUDE_PATH CPLUS_INCLUDE_PATH LIBRARY_PATH LD_LIBRARY_PATH PKG_CONFIG_PATH
unset CMAKE_PREFIX_PATH CMAKE_INCLUDE_PATH CMAKE_LIBRARY_PATH OPENBNNS_LOG OPENBNNS_TARGET

passed=0
failed=0
check() { # <name> <command...>
  local name=$1
  shift
  if "$@" >"$work/log" 2>&1; then
    echo "ok    $name"
    passed=$((passed + 1))
  else
    echo "FAIL  $name"
    sed 's/^/        /' "$work/log"
    failed=$((failed + 1))
  fi
}

# The same for the MPS library, if it was built.
check_mps() { [ "$(cached OPENBNNS_MPS)" = OFF ] || check "$@"; }

# The same for the training library and the program, if they were built.
train_built=$([ -e "$build/openbnns" ] && echo yes)
check_train() { [ -z "$train_built" ] || check "$@"; }

# <project> <cmake argument...>: configures and builds a project of this folder, runs its program.
cmake_project() {
  local project=$1
  shift
  cmake -S "$here/$project" -B "$work/$project" -G "$generator" "$@" &&
    cmake --build "$work/$project" --parallel 2 &&
    run_program "$work/$project"
}
run_program() { # <folder>: the one executable in it
  local program
  program=$(find "$1" -maxdepth 1 -type f -perm -u+x) && echo "$program" && "$program"
}

# ---- The installed tree. It is moved after the installation: nothing in it may know its place.

install_and_move() {
  cmake --install "$build" --prefix "$work/first" && mv "$work/first" "$work/prefix"
}
check "install" install_and_move
prefix=$work/prefix
library=$(find "$prefix" -name libopenbnns.so -not -path '*/openbnns/*')
libdir=$(dirname "${library:-$prefix/lib/none}")
include=$prefix/include
compat=$include/openbnns/compat

only_own_include_folder() { [ "$(ls "$include")" = openbnns ]; }
check "install: include holds nothing but openbnns" only_own_include_folder

soname() { readelf -d "$library" | grep 'SONAME.*\[libopenbnns\.so\.0\]'; }
check "install: SONAME is libopenbnns.so.0" soname

no_path_of_the_build() {
  ! grep -rlF -e "$build" -e "$source" -e "$work/first" "$libdir/cmake" "$libdir/pkgconfig"
}
check "install: package files name no folder of this machine" no_path_of_the_build

exports() {
  nm -D --defined-only "$library" | awk '{print $NF}' | LC_ALL=C sort -u >"$work/exported"
  diff "$here/symbols.txt" "$work/exported"
}
check "symbols: the API and nothing else is exported" exports

mps_exports() {
  nm -DC --defined-only "$libdir/libopenbnns_mps.so" |
    sed 's/^[0-9a-f]* [A-Za-z] //' >"$work/mps" &&
    grep -q '^bnns::MPS::NNLossGradient::encodeBatch' "$work/mps" &&
    ! grep -vE '^((typeinfo|typeinfo name|vtable|VTT) for )?bnns::(MTL|MPS)::' "$work/mps"
}
check_mps "symbols: the MPS library exports its classes and nothing else" mps_exports

core_is_alone() {
  ! readelf -d "$library" | grep -iE 'NEEDED.*(mps|opencl|train|fmt|png|blas)'
}
check "the core library needs neither the MPS library nor OpenCL nor a BLAS" core_is_alone

# ---- Clients

check "CMake project with find_package, C++" \
  cmake_project find_package_cpp -DCMAKE_PREFIX_PATH="$prefix"

check_mps "CMake project with find_package(OpenBNNS COMPONENTS MPS)" \
  cmake_project find_package_mps -DCMAKE_PREFIX_PATH="$prefix"

check_train "CMake project with find_package(OpenBNNS COMPONENTS Train)" \
  cmake_project find_package_train -DCMAKE_PREFIX_PATH="$prefix"

pkg_config_train() {
  local flags
  flags=$(PKG_CONFIG_PATH=$libdir/pkgconfig pkg-config --cflags --libs openbnns-train) &&
    echo "$flags" &&
    $CXX -std=c++20 -Wall -Wextra -Werror "$here/find_package_train/main.cpp" $flags \
      -o "$work/pkg_config_train" &&
    LD_LIBRARY_PATH=$libdir "$work/pkg_config_train"
}
check_train "C++ program with pkg-config openbnns-train" pkg_config_train

installed_program() {
  mkdir -p "$work/run" && cd "$work/run" &&
    "$prefix/bin/openbnns" train --data synthetic-digits:300 --epochs 1 --json | tail -n 1 |
    grep -q '"test_accuracy"' && "$prefix/bin/openbnns" info openbnns-model.safetensors &&
    [ -s "$prefix/share/man/man1/openbnns.1" ] &&
    [ -s "$prefix/share/bash-completion/completions/openbnns" ]
}
check_train "the installed program, its manual page and completion" installed_program

# The plug-in is found beside the library, and nothing but the plug-in needs MPI.
installed_ranks() {
  mkdir -p "$work/ranks" && cd "$work/ranks" &&
    ! readelf -d "$prefix/bin/openbnns" "$libdir/libopenbnns_train.so" | grep -i 'NEEDED.*mpi' &&
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun -n 2 --oversubscribe \
      --bind-to none "$prefix/bin/openbnns" train --data synthetic-digits:300 --epochs 1 \
      --shards 2 --json | tail -n 1 | grep -q '"test_accuracy"'
}
if [ -e "$build/libopenbnns_mpi.so" ] && command -v mpirun >/dev/null; then
  check "the installed program under mpirun" installed_ranks
fi

unknown_component() {
  mkdir -p "$work/unknown" && printf '%s\n' 'cmake_minimum_required(VERSION 3.22)' \
    'project(unknown LANGUAGES CXX)' 'find_package(OpenBNNS REQUIRED COMPONENTS Other)' \
    >"$work/unknown/CMakeLists.txt" &&
    ! cmake -S "$work/unknown" -B "$work/unknown/build" -DCMAKE_PREFIX_PATH="$prefix"
}
check "CMake project that asks for an unknown component is refused" unknown_component

# Built for this CPU only, without optimisation: the question is whether it builds as a part.
check "CMake project that embeds the sources with add_subdirectory, C, static library" \
  cmake_project embedded -DLIBRARY_SOURCES="$source" -DCMAKE_BUILD_TYPE=Debug \
  -DOPENBNNS_STATIC_TARGET=native -DBUILD_SHARED_LIBS=OFF -DOPENBNNS_INSTALL=ON

embedded_accelerate() {
  cmake --build "$work/embedded" --target embedded_accelerate &&
    run_program "$work/embedded/accelerate"
}
check "the same with OpenBNNS::Accelerate" embedded_accelerate
embedded_without_install() {
  cmake -S "$here/embedded" -B "$work/not_installed" -G "$generator" -DLIBRARY_SOURCES="$source" \
    -DOPENBNNS_INSTALL=OFF
}
check "the same, configured without rules of installation" embedded_without_install

# What was built there are static libraries, and can be installed. The plug-in for MPI is always
# loaded at run time, and libAccelerate.so is a linker script.
static=$work/static
install_static() {
  cmake --install "$work/embedded" --prefix "$static" &&
    [ -z "$(find "$static" -name '*.so*' ! -name libopenbnns_mpi.so ! -name libAccelerate.so)" ]
}
check "static library: install" install_static
static_package=$(dirname "$(find "$static" -name openbnns.pc)")
check "static library: CMake project with find_package, C only" \
  cmake_project static_c -DCMAKE_PREFIX_PATH="$static"
static_pkg_config() {
  local flags
  flags=$(PKG_CONFIG_PATH=$static_package pkg-config --static --cflags --libs openbnns) &&
    echo "$flags" && $CC -std=c99 "$here/pkg_config_c/main.c" $flags -o "$work/static_pc" &&
    "$work/static_pc"
}
check "static library: C99 program with pkg-config --static" static_pkg_config

# A program with the training library in it finds the plug-in in the folder of libraries that
# belongs to its own.
static_ranks() {
  local flags
  mkdir -p "$static/bin" &&
    flags=$(PKG_CONFIG_PATH=$static_package pkg-config --static --cflags --libs openbnns-train) &&
    echo "$flags" &&
    $CXX -std=c++20 "$here/ranks_cpp/main.cpp" $flags -o "$static/bin/ranks" &&
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun -n 2 --oversubscribe \
      --bind-to none "$static/bin/ranks" | grep '^2 ranks$'
}
if [ -e "$build/libopenbnns_mpi.so" ] && command -v mpirun >/dev/null; then
  check "static library: C++ program under mpirun" static_ranks
fi

static_mps() {
  local flags
  flags=$(PKG_CONFIG_PATH=$static_package pkg-config --static --cflags --libs openbnns-mps) &&
    echo "$flags" &&
    $CXX -std=c++20 "$here/find_package_mps/main.cpp" $flags -o "$work/static_mps" &&
    "$work/static_mps"
}
check_mps "static library: C++ program with pkg-config --static openbnns-mps" static_mps

pkg_config_c() {
  local flags
  flags=$(PKG_CONFIG_PATH=$libdir/pkgconfig pkg-config --cflags --libs openbnns) && echo "$flags" &&
    $CC -std=c99 -pedantic -Wall -Wextra -Werror "$here/pkg_config_c/main.c" $flags \
      -o "$work/pkg_config_c" &&
    LD_LIBRARY_PATH=$libdir "$work/pkg_config_c"
}
check "C99 program with pkg-config" pkg_config_c

pkg_config_mps() {
  local flags
  flags=$(PKG_CONFIG_PATH=$libdir/pkgconfig pkg-config --cflags --libs openbnns-mps) &&
    echo "$flags" &&
    $CXX -std=c++20 -Wall -Wextra -Werror "$here/find_package_mps/main.cpp" $flags \
      -o "$work/pkg_config_mps" &&
    LD_LIBRARY_PATH=$libdir "$work/pkg_config_mps"
}
check_mps "C++ program with pkg-config openbnns-mps" pkg_config_mps

plain_cpp() {
  $CXX -std=c++20 -Wall -I"$compat" "$here/plain_cpp/main.cpp" -L"$libdir" -lopenbnns \
    -o "$work/plain_cpp" &&
    LD_LIBRARY_PATH=$libdir "$work/plain_cpp"
}
check "C++ program with <bnns.h>, compiled by hand" plain_cpp

not_named() { ! grep -ri openbnns "$here/accelerate" "$here/veclib"; }
check "the next two projects do not mention this library" not_named

accelerate() { CPATH=$compat cmake_project accelerate -DCMAKE_PREFIX_PATH="$prefix"; }
check "unmodified project: <Accelerate/Accelerate.h>, find_library(Accelerate)" accelerate

check "unmodified project: <vecLib/BNNS/bnns.h>, find_path, find_library(BNNS)" \
  cmake_project veclib -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_INCLUDE_PATH="$compat"

check "Python client without bindings" python3 "$here/python_ctypes/client.py" "$library"

# ---- Accelerate with CBLAS: a linker script in a folder of its own

cblas_program() { # <flags...>: the strict C11 program, linked with them
  echo "$@" &&
    $CC -std=c11 -pedantic -Wall -Wextra -Werror "$here/find_package_accelerate/main.c" "$@" -lm \
      -o "$work/cblas" &&
    LD_LIBRARY_PATH=$libdir "$work/cblas"
}
by_hand() { cblas_program -I"$compat" -L"$libdir/openbnns" -lAccelerate; }
check "C11 program with -lAccelerate that calls cblas_sgemm, strict, by hand" by_hand
pkg_config_accelerate() {
  cblas_program $(PKG_CONFIG_PATH=$libdir/pkgconfig pkg-config --cflags --libs openbnns-accelerate)
}
check "the same with pkg-config openbnns-accelerate" pkg_config_accelerate
check "the same as a CMake project with OpenBNNS::Accelerate" \
  cmake_project find_package_accelerate -DCMAKE_PREFIX_PATH="$prefix"
static_accelerate() {
  local flags
  flags=$(PKG_CONFIG_PATH=$static_package pkg-config --cflags --libs openbnns-accelerate) &&
    cblas_program $flags
}
check "static library: the same with pkg-config openbnns-accelerate" static_accelerate

blas_only_if_called() {
  $CC -std=c99 -I"$compat" "$here/accelerate/main.c" -L"$libdir/openbnns" -lAccelerate \
    -o "$work/no_blas" && ! readelf -d "$work/no_blas" | grep -i 'NEEDED.*blas'
}
check "a program with -lAccelerate that calls no CBLAS does not need a BLAS" blas_only_if_called
accelerate_headers() {
  $CXX -std=c++17 -I"$compat" "$here/accelerate/headers.cpp" -L"$libdir" -lAccelerate \
    -o "$work/headers" && LD_LIBRARY_PATH=$libdir "$work/headers"
}
check "C++17 program that has std::sqrt and M_PI from <Accelerate/Accelerate.h>" accelerate_headers
strict_and_late() { # what is included before this header is as strict as was asked for
  printf '%s\n' '#include <stdio.h>' '#include <Accelerate/Accelerate.h>' '#include <time.h>' \
    'int main(void) {' '  struct timespec now;' \
    '  return clock_gettime(CLOCK_MONOTONIC, &now) != 0 || M_PI < 3;' '}' |
    $CC -std=c11 -pedantic-errors -Wall -Wextra -Werror -I"$compat" -x c - -o "$work/late" &&
    "$work/late"
}
check "strict C11 program that includes another header before" strict_and_late
own_choice() { # _POSIX_C_SOURCE chosen by the program stays what it is: M_PI is not part of it
  printf '%s\n' '#include <Accelerate/Accelerate.h>' '#ifdef M_PI' '#error "M_PI"' '#endif' |
    $CC -std=c11 -D_POSIX_C_SOURCE=200809L -I"$compat" -fsyntax-only -x c -
}
check "a program that chose _POSIX_C_SOURCE keeps its choice" own_choice

dlopen_c() {
  $CC -std=c99 -Wall -I"$include" "$here/dlopen_c/main.c" -ldl -o "$work/dlopen_c" || return 1
  local name
  for name in openbnns Accelerate BNNS; do
    "$work/dlopen_c" "$libdir/lib$name.so" || return 1
  done
}
check "program that opens the library and its aliases with dlopen" dlopen_c

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
