#!/bin/bash
# Measures the built plugin and its peers in the same rounds. Prints ratios and goals, and whether the goals are met.
#
#   test/bench/run.sh [ROUNDS]           on this machine's kernel, as root, in its own namespaces; default 300 rounds
#   test/bench/run.sh --guest [ROUNDS]   in the guest of netns-harness, which also has VFs; an emulated machine is slow,
#                                        but its ratios are valid
#
# A missed goal is not a failure, because this is a measurement.
# Environment: RDMANET_BINARY, RDMANET_BENCH_BUILD (default build/release).
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$top"
if [[ ${1:-} == --guest ]]; then
	shift
	exec netns-harness/run.sh test/bench/run.sh "$@"
fi
build=${RDMANET_BENCH_BUILD:-build/release}
export RDMANET_BINARY=${RDMANET_BINARY:-$top/$build/cmd/rdmanet/rdmanet}
[[ -x $build/test/bench/spawn_bench && -x $RDMANET_BINARY ]] || {
	echo "$0: build first: cmake --preset release && cmake --build --preset release" >&2
	exit 1
}

row() { printf '%-44s %12s %12s %8s %8s  %s\n' "$@"; }
verdict() { awk -v value="$1" -v goal="$2" 'BEGIN { print (value <= goal ? "met" : "MISSED") }'; }

# Runs a program in namespaces of its own, with the sysfs of its network.
apart() {
	unshare --net --mount bash -c 'mount -t sysfs none /sys && mount -t tmpfs none /run && mkdir /run/netns || exit
		exec "$@"' _ "$@"
}

processes() {
	apart "$build/test/bench/spawn_bench" "$build/test/bench/empty" "$build/test/bench/minimal_add" "$@"
}

# Three rounds only show that it runs. An emulated machine has no time for 1,500 pods.
many() {
	local few=()
	[[ -z ${RDMANET_HARNESS_GUEST-} ]] && (($1 > 3)) || few=(20 10)
	apart "$build/test/bench/many_bench" "$build/test/bench/minimal_add" "$1" "${few[@]}"
}

# Runs in the guest's own network namespace, which has the NIC.
devices() {
	if [[ -n ${RDMANET_HARNESS_GUEST-} ]]; then
		"$build/test/bench/vf_bench" "$build/test/bench/minimal_vf" "$@"
	else
		echo "VF ADD and DEL are not measured here, because they need the guest's software NIC: test/bench/run.sh --guest"
	fi
}

# Stores of a cluster, where an API server can be had. Three rounds only show that it runs.
cluster() {
	local few=() nodes=()
	(($1 > 3)) || few=(0.2 1) nodes=(20 8 16)
	[[ ! -x $build/test/bench/cluster_bench ]] || "$top/test/cluster/cluster.sh" try "$build/test/bench/cluster_bench" "${few[@]}" 2>/dev/null
	[[ ! -x $build/test/bench/start_bench ]] || "$top/test/cluster/cluster.sh" try "$build/test/bench/start_bench" "${nodes[@]}" 2>/dev/null
}

size() {
	local bytes mib kind=MISSED
	bytes=$(stat -c %s "$RDMANET_BINARY")
	mib=$(awk -v bytes="$bytes" 'BEGIN { printf "%.2f", bytes / 1048576 }')
	row "size of the program" "$mib MiB" "" "" 9.54 "$(verdict "$mib" 9.54)" # 10 MB
	# A position independent file (DYN) without an interpreter is static-PIE.
	if readelf -h "$RDMANET_BINARY" | grep -q 'DYN' && ! readelf -l "$RDMANET_BINARY" | grep -q INTERP; then kind=met; fi
	row "static-PIE" "" "" "" "" "$kind"
}

reasons() {
	cat <<'END'

Why goals are missed:
  ADD : Debian's  The requests to the kernel alone take a sixth of the time of Debian's plugins. docs/how-it-works.md
       has the other parts.
  VF ADD and DEL : host-device  The same changes in C take half of host-device's time: moving and renaming a net device
       waits for RCU twice, whoever asks.
END
}

measure() {
	processes "$@"
	many "${1:-300}"
	devices "$@"
	cluster "${1:-300}"
	size
}

lines=$(mktemp)
trap 'rm -f "$lines"' EXIT
measure "$@" | tee "$lines"
! grep -qE '^(VERSION|macvlan|VF) .*MISSED' "$lines" || reasons
