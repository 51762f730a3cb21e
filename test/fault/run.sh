#!/bin/bash
# Kills and fails the built plugin at its system calls, and checks that the node is as it was.
#
#   test/fault/run.sh                a sample, which changes with each commit; about a minute. Of ipvlan, rdma-only,
#                                    host-device, virtual, subfunction, vfio, ipoib, infiniband, switchdev and reset it
#                                    runs only one; it omits passthru
#   test/fault/run.sh --all          every system call with every error and every way to recover; some hours. Cases with
#                                    the stores of a cluster count as skipped, unless it is run in the harness by
#                                    test/cluster/cluster.sh try
#   test/fault/run.sh [--all] TAGS   test cases by tag (Catch2), for example '[kill][macvlan]':
#                                    - kill, error, parallel, aimed
#                                    - macvlan, passthru, ipvlan, host-local, ipam-only, sriov, rdma-only, host-device,
#                                      virtual, subfunction, vfio, ipoib, infiniband, switchdev, reset, cluster
#
# It runs on the kernel of netns-harness. The last line is: N passed, N failed, N skipped.
#
# Environment:
#   RDMANET_FAULT_SAMPLE, RDMANET_FAULT_COMMAND, RDMANET_SEED   see sampling.hpp
#   RDMANET_FAULT_PODS                                          see parallel_test.cpp
#   RDMANET_BINARY           default: the release build
#   RDMANET_FAULT_NATIVE=1   use this machine's kernel if it has macvlan; skip what else it lacks
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$top"
RDMANET_SEED=$(test/seed)
export RDMANET_SEED
export RDMANET_HARNESS_TIMEOUT=${RDMANET_HARNESS_TIMEOUT:-10800}
# The GID table is small, because the plugin reads it entry by entry with three system calls each.
export RDMANET_HARNESS_NIC=${RDMANET_HARNESS_NIC:-nics=1 ports=1 vfs=2 gid_table_len=16}
if [[ ${RDMANET_FAULT_NATIVE:-0} == 1 && -z ${RDMANET_HARNESS_GUEST:-} ]]; then
	RDMANET_HARNESS_NEEDS="netns veth macvlan ptrace" exec netns-harness/run.sh test/fault/run.sh "$@"
fi
is_everything=
if [[ ${1:-} == --all ]]; then
	shift
	is_everything=1
	export RDMANET_FAULT_SAMPLE=all
fi
export RDMANET_BINARY=${RDMANET_BINARY:-$top/build/release/cmd/rdmanet/rdmanet}
test=${RDMANET_FAULT_TEST:-$top/build/release/test/fault/fault_test}
[[ -x $test && -x $RDMANET_BINARY ]] || {
	echo "$0: build first: cmake --preset release && cmake --build --preset release" >&2
	exit 1
}
# These either prepare their own card or wait for the kernel to return a device, which takes longer than their points.
# ipvlan is like macvlan.
turns=(ipvlan rdma-only host-device virtual subfunction vfio ipoib infiniband switchdev reset)
if [[ $# == 0 && -z $is_everything ]]; then
	tags=
	if [[ -z ${RDMANET_FAULT_SAMPLE:-} ]]; then
		unset "turns[$((RDMANET_SEED % ${#turns[@]}))]"
		tags=$(printf '~[%s]' "${turns[@]}" passthru)
	fi
	# In test/run.sh, cases with an API server have stages of their own.
	[[ -n ${RDMANET_CLUSTER:-} ]] || tags+='~[cluster]'
	set -- ${tags:+"$tags"}
fi
# Under emulation a hundred processes at the same time take most of a minute.
[[ ${RDMANET_FAULT_SAMPLE:-} == all || ${RDMANET_HARNESS_GUEST:-} == native ]] ||
	export RDMANET_FAULT_PODS=${RDMANET_FAULT_PODS:-20}
exec netns-harness/run.sh "$test" -r progress "$@"
