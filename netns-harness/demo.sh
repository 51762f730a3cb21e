#!/bin/bash
# Shows rdmanet at work on a real kernel. Two pods on two nodes' ports get RDMA interfaces and reach each other. At the
# end the nodes are as before. Run it as root. On a fresh Debian 12 it installs Debian packages and builds rdmanet. It
# uses a virtual machine with a software RDMA NIC, which is deleted at the end.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(dirname "$here")
rdmanet=$top/build/release/cmd/rdmanet/rdmanet

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }

prepare() {
	say "Setting up: packages, build"
	"$here/setup.sh"
	cd "$top"
	cmake --preset release >/dev/null
	cmake --build --preset release --target rdmanet | tail -n 1
	say "Booting $(uname -m) Debian with two software RDMA NICs on one wire"
	exec "$here/run.sh" bash "$here/demo.sh" inside
}

# The configuration of a list's only plugin as the runtime passes it on, with another parent.
config() {
	jq -c --arg parent "$1" '.plugins[0] + {cniVersion, name, master: $parent}' "$top/conf-examples/roce-dual-stack.conflist"
}

# call COMMAND POD PARENT [CONFIG]: calls rdmanet as a runtime does.
call() {
	local input=${4:-$(config "$3")}
	CNI_COMMAND=$1 CNI_CONTAINERID=$2 CNI_NETNS=/run/netns/$2 CNI_IFNAME=net1 CNI_PATH=/opt/cni/bin \
		CNI_ARGS="IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=$2" "$rdmanet" <<<"$input"
}

gids() {
	local device=$1 port=/sys/class/infiniband/$1/ports/1 entry gid
	for entry in $(find "$port/gids" -type f -printf '%f\n' | sort -n); do
		gid=$(<"$port/gids/$entry")
		[[ $gid == 0000:0000:0000:0000:0000:0000:0000:0000 ]] ||
			printf '  %s  %2d  %s  %s\n' "$device" "$entry" "$gid" "$(<"$port/gid_attrs/ndevs/$entry")"
	done
}

look() {
	local where
	for where in "" "-netns worker-0" "-netns worker-1"; do
		# shellcheck disable=SC2086 # two words or none
		ip $where -oneline link
		# shellcheck disable=SC2086
		ip $where -oneline address | sed 's/valid_lft.*//'
		# shellcheck disable=SC2086
		ip $where route show table all
		# shellcheck disable=SC2086
		ip $where -6 route show table all
	done
	gids roce0p0
	gids roce1p0
	"$rdmanet" state --json
}

# Waits for what the kernel does later. Two minutes are much longer than it takes on a busy machine.
wait_until() { # what, command...
	local tries
	for ((tries = 0; tries < 1200; tries++)); do
		"${@:2}" && return
		sleep 0.1
	done
	echo "gave up waiting for $1"
	return 1
}

# A new link first gets a carrier and then an address. Duplicate address detection takes up to two seconds. After that
# come the local route and the GID.
at_rest() { # net device, RDMA device
	local address
	[[ $(<"/sys/class/net/$1/operstate") == up ]] || return
	address=$(ip -6 -oneline address show dev "$1" scope link -tentative | awk '{print $4}' | cut -d/ -f1)
	[[ -n $address && -n $(ip -6 route show table local "$address" dev "$1") ]] || return
	ip -6 route show table local type multicast dev "$1" | grep -q . || return
	gids "$2" | grep -q "$1\$"
}

reaches() { ip netns exec "$1" ping -q -c 1 -W 1 "$2" >/dev/null; } # pod, address

unchanged() {
	look >/tmp/after
	cmp -s /tmp/before /tmp/after
}

inside() {
	local pod parent result
	declare -A parent_of=([worker-0]=rnic0p0 [worker-1]=rnic1p0) results
	ip link set rnic0p0 up
	ip link set rnic1p0 up
	for pod in worker-0 worker-1; do
		ip netns add "$pod"
		ip -netns "$pod" link set lo up
	done
	wait_until "the link-local address of rnic0p0" at_rest rnic0p0 roce0p0
	wait_until "the link-local address of rnic1p0" at_rest rnic1p0 roce1p0
	look >/tmp/before

	say "Two nodes' ports and their RDMA devices"
	rdma link show
	for pod in worker-0 worker-1; do
		parent=${parent_of[$pod]}
		say "ADD: $pod gets a child of $parent"
		result=$(call ADD "$pod" "$parent")
		results[$pod]=$result
		echo "$result"
	done

	say "Each address is a GID of the parent's RDMA device"
	gids roce0p0
	gids roce1p0

	say "worker-0 reaches worker-1 across the wire"
	ip netns exec worker-0 ping -c 2 -i 0.2 -W 2 "$(address worker-1 4)" | tail -n 2
	wait_until "worker-1's IPv6 address" reaches worker-0 "$(address worker-1 6)" # its duplicate address detection
	ip netns exec worker-0 ping -6 -c 2 -i 0.2 -W 2 "$(address worker-1 6)" | tail -n 2

	say "rdmanet state shows who holds what"
	"$rdmanet" state

	say "CHECK and STATUS succeed, and print nothing"
	for pod in worker-0 worker-1; do
		call CHECK "$pod" "${parent_of[$pod]}" "$(with_result "${parent_of[$pod]}" "${results[$pod]}")" && echo "  CHECK $pod: ok"
	done
	call STATUS worker-0 rnic0p0 && echo "  STATUS: ok"

	say "DEL restores the nodes"
	for pod in worker-0 worker-1; do
		call DEL "$pod" "${parent_of[$pod]}" && echo "  DEL $pod: ok"
	done
	wait_until "the nodes to be as they were" unchanged || diff /tmp/before /tmp/after
	echo "  links, addresses, routes, GIDs, records and leases: no difference"
}

address() { ip -netns "$1" -oneline -"$2" address show net1 scope global | awk '{print $4}' | cut -d/ -f1; }

with_result() { jq -c --argjson result "$2" '.prevResult = $result' <<<"$(config "$1")"; }

if [[ ${1-} == inside ]]; then inside; else prepare; fi
