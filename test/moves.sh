#!/bin/bash
# Counts over how many units a call is spread. A unit is a source with its header. A move is a call or a return that
# changes the unit. Everything that the compiler sees is counted, also what it would inline.
#
#   test/moves.sh           a table: ADD and DEL of a macvlan child, and of a VF with exclusive RDMA and a VLAN
#   test/moves.sh NUMBER    below each call also so many units, and pairs of units, with the most moves
#
# Run it as root. It builds into build/moves, and VFs need the guest of netns-harness.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$top"
build=build/moves
rdmanet=$top/$build/cmd/rdmanet/rdmanet

build() {
	cmake --preset debug -B $build -DCMAKE_UNITY_BUILD=ON -DBUILD_TESTING=OFF \
		-DCMAKE_CXX_FLAGS="-g1 -finstrument-functions -finstrument-functions-exclude-file-list=/usr/" >/dev/null
	cmake --build $build --target rdmanet >$build/log || { tail -n 20 $build/log && exit 1; }
	cc -O2 -shared -fPIC -o $build/record.so test/moves/record.c
}

# call KIND COMMAND CONFIGURATION: a line for each function, with KIND and COMMAND before it.
call() {
	local moves
	moves=$(mktemp -d)
	CNI_COMMAND=$2 CNI_CONTAINERID=pod CNI_NETNS=/run/netns/pod CNI_IFNAME=net1 CNI_PATH=/usr/lib/cni RDMANET_MOVES=$moves \
		LD_PRELOAD=$top/$build/record.so "$rdmanet" <<<"$3" >"$moves/result" || { cat "$moves/result" && exit 1; }
	sed "s/^/$1 $2 /" "$moves/$2"
}

both() { # KIND CONFIGURATION
	ip netns add pod
	call "$1" ADD "$2"
	call "$1" DEL "$2"
	ip netns delete pod
}

ipam='"ipam":{"type":"rdmanet","range":"10.96.0.0/16"}'

macvlan() {
	ip link add parent type veth peer name other
	ip link set parent up
	both macvlan '{"cniVersion":"1.1.0","name":"moves","type":"rdmanet","master":"parent","rdma":false,'"$ipam}"
}

vf() {
	local card
	card=$(basename "$(dirname "$(find /sys/bus/pci/devices/*/ -name sriov_numvfs | head -n 1)")")
	rdma system set netns exclusive
	ip link set "$(ls "/sys/bus/pci/devices/$card/net")" up # otherwise ADD waits for its ports
	echo 2 >"/sys/bus/pci/devices/$card/sriov_numvfs"
	both vf '{"cniVersion":"1.1.0","name":"moves","type":"rdmanet","rdma":true,"vlan":100,"deviceID":"'"$(
		basename "$(readlink "/sys/bus/pci/devices/$card/virtfn0")")"'",'"$ipam}"
}

case ${1-} in
inside) "$2" ;;
*)
	build
	{
		RDMANET_HARNESS_NEEDS="netns veth macvlan" netns-harness/run.sh test/moves.sh inside macvlan
		netns-harness/run.sh test/moves.sh inside vf
	} | python3 test/moves/count.py "$rdmanet" "${1:-0}"
	;;
esac
