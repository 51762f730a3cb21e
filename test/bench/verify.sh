#!/bin/bash
# Compares the bandwidth that `rdmanet verify` measures with that of perftest's ib_write_bw, in turn, between the same
# two pods on VFs of the software NIC.
#
#   test/bench/verify.sh [ROUNDS]      boots the guest itself; default 10
#
# A missed goal is not a failure, because this is a measurement.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
rounds=${1:-10}
[[ ${RDMANET_HARNESS_GUEST:-0} == 1 ]] || exec "$top/netns-harness/run.sh" "$top/test/bench/verify.sh" "$rounds"
binary=${RDMANET_BINARY:-$top/build/release/cmd/rdmanet/rdmanet}
pf=rnic0p0

prepare() {
	local number
	rdma system set netns exclusive
	ip link set "$pf" up
	echo 2 >"/sys/class/net/$pf/device/sriov_numvfs"
	for number in 0 1; do
		ip netns add "pod$number"
		ip link set "${pf}v$number" netns "pod$number"
		rdma dev set "roce0p0v$number" netns "pod$number"
		ip -n "pod$number" addr add "10.9.0.$((number + 1))/24" dev "${pf}v$number"
		ip -n "pod$number" link set "${pf}v$number" up
	done
}

ours() { "$binary" verify /run/netns/pod0 /run/netns/pod1 --expect 0 --json 2>/dev/null; }

theirs() { # GID index of the client, and of the server
	local server
	ip netns exec pod1 ib_write_bw -F -d roce0p0v1 -x "$2" -D 2 >/dev/null 2>&1 &
	server=$!
	until ip netns exec pod1 ss -Hltn | grep -q .; do sleep 0.1; done
	ip netns exec pod0 ib_write_bw -F -d roce0p0v0 -x "$1" -D 2 --report_gbits 10.9.0.2 | awk '$1 == 65536 { print $4 }'
	wait "$server" || true
}

prepare
until report=$(ours); do sleep 0.1; done # the kernel makes GIDs some time after addresses
read -r client server < <(jq -r '"\(.here.gidIndex) \(.peer.gidIndex)"' <<<"$report")
for ((round = 0; round < rounds; round++)); do
	echo "$(ours | jq .bandwidth.rate) $(theirs "$client" "$server")"
done | awk '{ ours += $1; theirs += $2 } END {
	ratio = ours / theirs
	printf "%-44s %9s %9s %7s %7s\n", "mean of " NR " rounds", "verify", "perftest", "ratio", "goal"
	printf "%-44s %4.2f Gb/s %4.2f Gb/s %7.2f %7.2f  %s\n", "bandwidth of verify : ib_write_bw", ours / NR,
		theirs / NR, ratio, 0.95, (ratio >= 0.95 ? "met" : "MISSED") }'
