#!/bin/bash
# Kills and fails the built plugin at its system calls and looks whether the node is as it was.
#
#   test/fault/run.sh                a sample, another one for each commit, ipvlan, rdma-only, host-device, virtual,
#                                    subfunction, vfio, ipoib, infiniband, switchdev and reset by turns, without passthru:
#                                    about a minute
#   test/fault/run.sh --all          every system call with every error and every way to recover: some hours
#   test/fault/run.sh [--all] TAGS   test cases by tag (Catch2), e.g. '[kill][macvlan]': kill, error, damage, absence,
#                                    crowd, aimed; macvlan, passthru, ipvlan, host-local, ipam-only, sriov, rdma-only,
#                                    host-device, virtual, subfunction, vfio, ipoib, infiniband, switchdev, reset
#
# Runs on the kernel of netns-harness. Environment: RDMANET_FAULT_SAMPLE, RDMANET_FAULT_COMMAND and RDMANET_SEED (see
# sampling.hpp), RDMANET_FAULT_CROWD, RDMANET_BINARY (default: the release build), RDMANET_FAULT_NATIVE=1 (on this machine's kernel if it
# has macvlan; what else it lacks is skipped).
# Last line: N passed, N failed, N skipped.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$top"
RDMANET_SEED=$(test/seed)
export RDMANET_SEED
export RDMANET_HARNESS_TIMEOUT=${RDMANET_HARNESS_TIMEOUT:-10800}
# A small GID table: the plugin reads it entry by entry, three system calls each, which says nothing new here.
export RDMANET_HARNESS_NIC=${RDMANET_HARNESS_NIC:-nics=1 ports=1 vfs=2 gid_table_len=16}
if [[ ${RDMANET_FAULT_NATIVE:-0} == 1 && -z ${RDMANET_HARNESS_GUEST:-} ]]; then
	RDMANET_HARNESS_NEEDS="netns veth macvlan ptrace" exec netns-harness/run.sh test/fault/run.sh "$@"
fi
if [[ ${1:-} == --all ]]; then
	shift
	export RDMANET_FAULT_SAMPLE=all
fi
export RDMANET_BINARY=${RDMANET_BINARY:-$top/build/release/cmd/rdmanet/rdmanet}
test=${RDMANET_FAULT_TEST:-$top/build/release/test/fault/fault_test}
[[ -x $test && -x $RDMANET_BINARY ]] || {
	echo "$0: build first: cmake --preset release && cmake --build --preset release" >&2
	exit 1
}
# What prepares a card of its own, or waits for the kernel to return a device, takes longer for that than for its points;
# ipvlan is much like macvlan.
turns=(ipvlan rdma-only host-device virtual subfunction vfio ipoib infiniband switchdev reset)
if [[ $# == 0 && -z ${RDMANET_FAULT_SAMPLE:-} ]]; then
	unset "turns[$((RDMANET_SEED % ${#turns[@]}))]"
	set -- "$(printf '~[%s]' "${turns[@]}" passthru)"
fi
# Under emulation a hundred processes at a time take most of a minute.
[[ ${RDMANET_FAULT_SAMPLE:-} == all || ${RDMANET_HARNESS_GUEST:-} == native ]] ||
	export RDMANET_FAULT_CROWD=${RDMANET_FAULT_CROWD:-20}
exec netns-harness/run.sh "$test" -r progress "$@"
