#!/bin/bash
# Runs the tests: style, static analysis, unit tests (with sanitizers), fuzz targets, and the built binary on a real
# kernel. Does its own set-up on a fresh Debian 12, as root. Last line: N passed, N failed, N skipped.
#
#   test/run.sh            what every change must pass: style, analysis, unit tests, fuzzing, the harness, attachments
#                          end to end
#   test/run.sh STAGE...   only these; the long ones are left out above: e2e_all (every case through the binary),
#                          e2e_sanitize (the same with sanitizers), fault (killed and failed at system calls)
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$top"
logs=$top/build/test-logs
passed=0 failed=0 skipped=0
failures=()

# What the tests need beyond the build and the harness: linters, libFuzzer, plugins to delegate to, a DHCP server
# (busybox).
packages=(git clang-format clang-tidy clang libclang-rt-14-dev shellcheck containernetworking-plugins busybox-static)

say() { printf '\n== %s\n' "$*"; }

# Runs a command that ends with a line "N passed, N failed, N skipped", shows its output, and adds the counts up.
counted() {
	local name=$1 log status=0 counts
	shift
	log=$logs/${name//[^a-z0-9-]/_}.log
	"$@" 2>&1 | tee "$log" || status=$?
	counts=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$log" | tail -1)
	if [[ -z $counts ]]; then
		counts='0 passed, 1 failed, 0 skipped'
	elif [[ $status != 0 && $counts == *' 0 failed'* ]]; then
		failed=$((failed + 1)) # it died after its last case, or the guest's kernel complained
		failures+=("$name: exit status $status")
	fi
	read -r -a words <<<"${counts//,/}"
	passed=$((passed + words[0])) failed=$((failed + words[2])) skipped=$((skipped + words[4]))
	[[ ${words[2]} == 0 ]] || failures+=("$name: $counts")
}

# One check that passes or fails as a whole.
check() {
	local name=$1
	shift
	if "$@" >"$logs/check.log" 2>&1; then
		passed=$((passed + 1))
		echo "ok   $name"
	else
		failed=$((failed + 1))
		failures+=("$name")
		cat "$logs/check.log"
		echo "FAIL $name"
	fi
}

sources() { git ls-files '*.cpp' '*.hpp' | grep -v '^netns-harness/'; }

stage_style() {
	say "style: clang-format, shellcheck"
	# shellcheck disable=SC2046 # one argument for each file
	check clang-format clang-format --dry-run --Werror $(sources)
	# shellcheck disable=SC2046
	check shellcheck shellcheck -x -S warning $(git ls-files '*.sh' .ci/run)
}

# build PRESET TARGET...
build() {
	local log=$logs/build-$1.log
	say "build: $1 (${*:2})"
	cmake --preset "$1" >"$log" 2>&1 && cmake --build --preset "$1" --target "${@:2}" >>"$log" 2>&1 && return
	grep -E 'error:|Error|undefined reference' -A5 "$log" | head -60
	echo "the build failed, see $log"
	exit 1
}

stage_tidy() {
	say "static analysis: clang-tidy"
	# shellcheck disable=SC2046
	check clang-tidy run-clang-tidy -quiet -j "$(nproc)" -p build/sanitize "^$top/build/sanitize/(src|cmd)/"
}

stage_unit() {
	say "unit tests, with address and undefined behaviour sanitizers"
	local program
	for program in build/sanitize/test/unit/*/*_test; do
		echo "-- $(basename "$program")"
		counted "unit-$(basename "$program")" "$program" -r progress
	done
}

stage_fuzz() {
	say "libFuzzer targets, each for a few seconds: test/fuzz/run.sh SECONDS runs them for longer"
	counted fuzz test/fuzz/run.sh 5
}

guest() { netns-harness/run.sh "$@"; }

stage_harness() {
	say "harness: the software NIC itself"
	counted harness guest netns-harness/selftest.sh
}

# e2e NAME BINARY [TAGS]
e2e() {
	RDMANET_BINARY=$2 counted "$1" guest build/release/test/e2e/e2e_test -r progress "${@:3}"
}

stage_e2e() {
	say "the built binary on a real kernel: attachments"
	e2e e2e "$top/build/release/cmd/rdmanet/rdmanet" '[macvlan],[ipvlan],[parent],[del]'
}

stage_e2e_all() {
	say "the built binary on a real kernel: every case"
	e2e e2e-all "$top/build/release/cmd/rdmanet/rdmanet"
}

stage_e2e_sanitize() {
	say "the same, the binary built with sanitizers"
	e2e e2e-sanitize "$top/build/sanitize/cmd/rdmanet/rdmanet" '~[protocol]' # memory limits don't go with sanitizers
}

stage_fault() {
	say "killed and failed at system calls: a sample, test/fault/run.sh --all takes every one"
	counted fault test/fault/run.sh
}

all=(style unit fuzz tidy harness e2e)

main() {
	netns-harness/setup.sh "${packages[@]}"
	mkdir -p "$logs"
	build release rdmanet binary_tests
	build sanitize rdmanet unit_tests
	local stage
	for stage in "${@:-${all[@]}}"; do
		"stage_$stage"
	done
	echo
	[[ ${#failures[@]} == 0 ]] || printf 'failed: %s\n' "${failures[@]}"
	echo "$passed passed, $failed failed, $skipped skipped"
	[[ $failed == 0 ]]
}

main "$@"
