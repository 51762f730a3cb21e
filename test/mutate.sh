#!/bin/bash
# Shows what the tests would not notice. It changes one line of src/ at a time (a comparison, a constant, a removed
# statement, a swapped argument, a dropped throw) in a copy below build/mutate, compiles it, and runs the unit tests of
# its module and native end-to-end cases until one fails.
#
#   test/mutate.sh [--seed S] N [PATH...]   N mutations of the lines of src/, or of these files and folders
#
# The seed chooses them; without --seed it is the commit's (test/seed), so that a commit always has the same ones. Only
# *.cpp files are changed. Comments, texts, and changes that do not compile are passed over. Unless they are named,
# files of the stores' repair are left out.
#
# A mutation that no test notices survives, and is listed at the end. It needs a test if a user could notice it. Others
# change nothing that can be seen, such as the size of a buffer. The last line is: N mutations, N killed, N survived.
set -euo pipefail

usage() {
	sed -n '2,/^set -/{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"
	exit 1
}

cd "$(dirname "${BASH_SOURCE[0]}")/.."
seed=
if [[ ${1-} == --seed ]]; then
	seed=${2-}
	shift $(($# > 1 ? 2 : 1))
fi
[[ ${1-} =~ ^[0-9]+$ ]] || usage

# Files that have not changed keep their times, so that nothing is compiled again for them.
mkdir -p build/mutate/tree
rm -rf build/mutate/mutant
git ls-files -z --cached --others --exclude-standard | /usr/bin/python3 test/mutate.py copy build/mutate/tree

# The programs of the copy are built without optimisation, so that each compiles in seconds, and with one file for each
# module. The end-to-end cases are those of the release build: they only run the binary.
log=build/mutate/build.log
{
	cmake -G Ninja -S build/mutate/tree -B build/mutate/build -DCMAKE_BUILD_TYPE=Debug -DCMAKE_UNITY_BUILD=ON \
		-DCMAKE_CXX_COMPILER=clang++ -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_FLAGS_DEBUG="-O0 -g0" \
		-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld &&
		ninja -C build/mutate/build rdmanet &&
		cmake --preset release && cmake --build --preset release --target e2e_test
} >"$log" 2>&1 || {
	grep -E 'error:|Error|undefined reference' -A5 "$log" | head -60
	echo "mutate: the build failed, see $log" >&2
	exit 1
}
exec /usr/bin/python3 test/mutate.py run "${seed:-$(test/seed)}" "$@"
