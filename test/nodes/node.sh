#!/bin/bash
# One of two nodes (run.sh boots both): 0 asks, and 1 does what 0 asks for.
#
# The pod's VF is on a card of its own, with MACs that the other node does not have. The wire of the software NIC connects
# that card to another one, whose port a bridge connects to the cable. So frames of RDMA cross the cable as they are.
set -u
number=$1
rdmanet=${RDMANET_BINARY:-$(dirname "$0")/../../build/release/cmd/rdmanet/rdmanet}
card=$((number * 2)) # 0 and 2
link=rnic${card}p0
here=192.168.77.$((number + 1))
there=192.168.77.$((2 - number))
pod=/run/netns/pod$number

config() { # members
	printf '{"cniVersion": "1.1.0", "name": "nodes", "type": "rdmanet", "rdma": true, "deviceID": "000%s:00:01.0", %s' \
		$((card + 1)) "$1"
	printf '"ipam": {"type": "rdmanet", "range": "10.88.0.0/24", "range_start": "10.88.0.%s", "range_end": "10.88.0.%s"}}' \
		$((number + 1)) $((number + 1))
}
cni() { # command, members of the configuration
	CNI_COMMAND=$1 CNI_CONTAINERID=pod$number CNI_NETNS=$pod CNI_IFNAME=net1 CNI_PATH=/opt/cni/bin "$rdmanet" <<<"$(config "$2")"
}

# States of both nodes come some time after the call that causes them.
soon() {
	local i
	for ((i = 0; i < 1200; i++)); do
		"$@" >/dev/null 2>&1 && return
		sleep 0.1
	done
	"$@"
}

set_up() {
	hostname "node$number"
	modprobe virtio_net
	local cable
	cable=$(basename /sys/bus/virtio/drivers/virtio_net/virtio*/net/*)
	ip link add cluster address 02:00:00:00:00:0$number type bridge # both nodes' cables have one MAC
	for port in "$cable" rnic1p0; do ip link set "$port" master cluster up; done
	ip addr add "$here/24" dev cluster
	ip link set cluster up
	rdma system set netns exclusive
	ip link set "$link" up
	echo 1 >"/sys/class/net/$link/device/sriov_numvfs"
	ip netns add "pod$number"
}

# What node 0 wants: a line for each, in files that both see.
ask() { # number of the request, command
	printf '%s\n' "${*:2}" >"/out/request.new" && mv /out/request.new "/out/request$1"
	soon test -e "/out/answer$1"
	[[ $(<"/out/answer$1") == 0 ]]
}
serve() {
	local request=0 command
	while soon test -e "/out/request$((++request))"; do
		command=$(<"/out/request$request")
		echo "node 1: $command"
		[[ $command != end ]] || { echo 0 >"/out/answer$request" && return; }
		eval "$command"
		echo $? >"/out/answer.new" && mv /out/answer.new "/out/answer$request"
	done
}

passed=0 failed=0 requests=0
ok() { # claim, command...
	local claim=$1
	shift
	if "$@" >/tmp/output 2>&1; then # in this shell, which counts requests
		echo "ok - $claim"
		passed=$((passed + 1))
	else
		echo "#   $*"
		head -c 3000 /tmp/output
		echo "not ok - $claim"
		failed=$((failed + 1))
	fi
}
other() { ask $((++requests)) "$@"; }

# The program of node 1 that listens: waits for its end, or ends it.
finish() { wait "$server"; }
leave() { kill "$server"; wait "$server" || true; }

# Node 1 offers, node 0 accepts. Each keeps its report in a file.
offer() {
	"$rdmanet" verify --server "$pod" --json --expect 0 --listen "$here" >/out/offer.json 2>&1 &
	server=$!
	soon grep -q token /out/offer.json
}
accept() {
	"$rdmanet" verify "$pod" --json --expect 0 --peer "$(jq -r .peer /out/offer.json)" --token "$(jq -r .token /out/offer.json)"
}
verify() { # the verdict that both must come to, and more that must hold of both reports
	other offer
	accept >/out/report0.json
	other 'finish; sed 1d /out/offer.json >/out/report1.json'
	jq -se "length == 2 and all(.[]; .verdict == \"$1\" and .scope == \"network\" and ($2))" /out/report0.json /out/report1.json ||
		{ cat /out/report0.json /out/report1.json && return 1; }
}
# What `rdmanet inventory` shows for the pod's address.
interface() { "$rdmanet" inventory -o json | jq -r ".interfaces[] | select(.name == \"net1\") | $1"; }
device() { interface .rdmaDevice; }
gid() { interface '.gids[] | select(.type == "RoCE v2" and (.address | startswith("10.88."))) | .index'; }
in_pod() { ip netns exec "pod$number" "$@"; }
listens() { in_pod ss -Hltn | grep -q . || in_pod rdma resource show cm_id | grep -q LISTEN; }

listen_with() { # program
	in_pod "$@" &
	server=$!
	soon listens
}
# Runs a program that connects to one of node 1.
between_nodes() { # server, client
	other "listen_with $1"
	if eval "in_pod $2"; then other finish; else other leave && false; fi
}
refused_without_token() {
	other offer && ! "$rdmanet" verify "$pod" --peer "$(jq -r .peer /out/offer.json)" --token wrong &&
		other leave
}

# The emulated processors may be slow to answer, so the queue pairs wait longer than usual (4 s).
readonly write_bw='ib_write_bw -F -n 100 --qp-timeout 20 -d $(device) -x $(gid)'

set_up
if [[ $number == 1 ]]; then
	serve
	exit
fi

attach='cni ADD "\"vlan\": 0,"'
ok "the nodes reach each other over the cable" soon ping -c 1 -W 1 "$there"
ok "node 0 attaches its pod" eval "$attach"
ok "node 1 attaches its pod" other "$attach"
ok "verify proves RDMA between the nodes, and both ends say so" verify proven '.ping.messages > 0 and .here.node != .peer.node'
ok "Debian's ib_write_bw writes between the nodes" between_nodes "$write_bw" "$write_bw 10.88.0.2"
ok "rping connects them with RDMA CM" between_nodes "rping -s -C 3 -a 10.88.0.2" "rping -c -C 3 -a 10.88.0.2"
ok "a client with another token is refused" refused_without_token
ok "node 1 gets a VLAN" other 'cni DEL "\"vlan\": 0," && cni ADD "\"vlan\": 7,"'
ok "verify says on both nodes that RDMA fails, and a fix" verify failed '.cause.fix != ""'
ok "node 1 gets its network back" other 'cni DEL "\"vlan\": 7," && cni ADD "\"vlan\": 0,"'
ok "verify proves RDMA again" verify proven true
ok "node 0 detaches its pod" cni DEL '"vlan": 0,'
ok "node 1 detaches its pod" other 'cni DEL "\"vlan\": 0,"'
other end
echo "$passed passed, $failed failed, 0 skipped"
[[ $failed == 0 ]]
