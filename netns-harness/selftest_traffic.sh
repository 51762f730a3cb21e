#!/bin/bash
# shellcheck disable=SC2154 # sourced by selftest.sh, whose functions and counts these are
# Users' RDMA with Debian's own programs: connections, datagrams, RDMA CM, faults, moves, limits.

patience=600 # seconds, for a machine with ten times too much to do
listens_here() { [[ -n $(ss -Hltn) ]]; }
listens() { [[ -n $(in_ns "$1" ss -Hltn) ]]; }
gid_index() { # device, part of the GID, type
	local port=/sys/class/infiniband/$1/ports/1 i
	for i in $(ls "$port/gids" | sort -n); do
		grep -q "$2" "$port/gids/$i" && grep -q "$3" "$port/gid_attrs/types/$i" 2>/dev/null && echo "$i" && return
	done
	return 1
}
# A pod with a RoCE device: ends[POD] has the device, its address and the index of its GID.
declare -A ends
end_of() { # pod, device, address, part of the GID, type of the GID
	soon gid_index "$2" "$4" "$5" >/dev/null && ends[$1]="$2 $3 $(gid_index "$2" "$4" "$5")"
}
between() { # server's pod, client's pod, option for the GID's index, command...
	local server status device address gid index=$3 pod=$1
	read -r device address gid <<<"${ends[$1]}"
	timeout "$patience" ip netns exec "$1" "${@:4}" -d "$device" "$index" "$gid" >/tmp/server 2>&1 &
	server=$!
	soon listens "$pod"
	read -r device _ gid <<<"${ends[$2]}"
	timeout "$patience" ip netns exec "$2" "${@:4}" -d "$device" "$index" "$gid" "$address"
	status=$?
	wait $server || { cat /tmp/server && return 1; }
	return $status
}
pingpong() { between "$1" "$2" -g ibv_rc_pingpong -n 20 -c "${@:3}"; }
perf() { between a b -x "$1" -F -n 20 "${@:2}"; }
listens_for_cm() { holds 'state LISTEN' rdma resource show cm_id; }
through_cm() { # server's command, then the client's after "--"
	local server=() status
	while [[ $1 != -- ]]; do server+=("$1") && shift; done
	timeout "$patience" ip netns exec a "${server[@]}" >/tmp/server 2>&1 &
	soon listens_for_cm
	timeout "$patience" ip netns exec b "${@:2}"
	status=$?
	wait $! || { cat /tmp/server && return 1; }
	return $status
}
port_counter() { cat "/sys/class/infiniband/$1/ports/1/$2"; }
user_queue_pairs() { # number: whether programs in the host's namespace have at least as many
	(($(rdma resource show qp | grep -c 'comm ibv_rc') >= $1))
}
counts_beyond() { (($(port_counter "$1" "$2") > $3)); }
rings() { # starts a long exchange between a and b; its programs are in $long
	local device address gid
	read -r device address gid <<<"${ends[a]}"
	ip netns exec a ibv_rc_pingpong -d "$device" -g "$gid" -n 1000000 >/tmp/server 2>&1 &
	long=$!
	soon listens a
	read -r device _ gid <<<"${ends[b]}"
	ip netns exec b ibv_rc_pingpong -d "$device" -g "$gid" -n 1000000 "$address" >/tmp/client 2>&1 &
	long+=" $!"
	soon connected
}
end_rings() { # shellcheck disable=SC2086 # two numbers
	kill $long && wait $long
} 2>/dev/null
connected() { # in shared or exclusive mode
	local all
	all=$(rdma resource show qp && in_ns a rdma resource show qp && in_ns b rdma resource show qp)
	(($(grep -c 'state RTS.*comm ibv_rc' <<<"$all") >= 2))
}
retries_exceeded() { grep -q 'retry counter exceeded' /tmp/server /tmp/client; }
vf_pod() { # pod, number of the VF, address
	pod "$1" "rnic0p0v$2" "$3/24" && end_of "$1" "roce0p0v$2" "$3" "ffff:0a01:00$(printf %02x "${3##*.}")" v2
}

ok "traffic: loads" reload nics=2 vfs=3
up rnic0p0 rnic1p0
vfs rnic0p0 3
vf_pod a 0 10.1.0.1 && vf_pod b 1 10.1.0.2
ok "traffic: rdma-core finds the devices" holds roce0p0v0 ibv_devices
ok "traffic: ibv_devinfo" holds 'PORT_ACTIVE' ibv_devinfo -d roce0p0v0

# Connections and datagrams
before=$(port_counter roce0p0v1 counters/port_xmit_data)
frames=$(in_ns b cat /sys/class/net/rnic0p0v1/statistics/tx_bytes)
ok "traffic: ibv_rc_pingpong between VFs in two pods" pingpong a b
ok "counters: port_xmit_data of users" test "$(port_counter roce0p0v1 counters/port_xmit_data)" -ge $((before + 20 * 4096 / 4))
ok "counters: users' data does not count at the net device" test "$(in_ns b cat /sys/class/net/rnic0p0v1/statistics/tx_bytes)" -lt $((frames + 20 * 4096))
ok "traffic: with completion events" pingpong a b -e
ok "traffic: with packets of 256 bytes" pingpong a b -m 256
ok "traffic: ibv_ud_pingpong" between a b -g ibv_ud_pingpong -n 20 -s 1024
for type in v1 v2; do
	end_of a roce0p0v0 10.1.0.1 fe80 $type && end_of b roce0p0v1 10.1.0.2 fe80 $type
	ok "traffic: RoCE $type with link-local GIDs" pingpong a b
done
end_of a roce0p0v0 10.1.0.1 ffff:0a01:0001 v2 && end_of b roce0p0v1 10.1.0.2 ffff:0a01:0002 v2
if type -P ib_write_bw >/dev/null; then
	before=$(port_counter roce0p0v0 hw_counters/rx_write_requests)
	for test in ib_send_bw ib_write_bw ib_read_bw ib_send_lat ib_write_lat ib_read_lat ib_atomic_lat ib_atomic_bw; do
		ok "traffic: $test" perf $test
	done
	ok "counters: rx_write_requests" soon counts_beyond roce0p0v0 hw_counters/rx_write_requests "$before"
	ok "traffic: ib_send_lat with datagrams" perf ib_send_lat -c UD
	ok "traffic: inline data and events" perf ib_send_bw -s 64 -I 64 -e
else
	skip "traffic: perftest" "perftest is not installed"
fi

# RDMA CM
if type -P rping >/dev/null; then
	ok "traffic: rping" through_cm rping -s -a 10.1.0.1 -C 3 -- rping -c -a 10.1.0.1 -C 3
	ok "traffic: ucmatose" through_cm ucmatose -- ucmatose -s 10.1.0.1
	ok "traffic: udaddy" through_cm udaddy -- udaddy -s 10.1.0.1
else
	skip "traffic: RDMA CM" "rdmacm-utils is not installed"
fi

# Faults and limits
counting=(roce0p0v0 roce0p0v1) # devices whose counters show the faults
sum_of() {
	local device sum=0
	for device in "${counting[@]}"; do sum=$((sum + $(port_counter "$device" "hw_counters/$1"))); done
	echo $sum
}
grows() { (($(sum_of "$1") > $2)); }
declare -A counted
remember() { for counter in "$@"; do counted[$counter]=$(sum_of "$counter"); done; }
all_grow() {
	for counter in "$@"; do grows "$counter" "${counted[$counter]}" || return 1; done
}
# Each line of the input is a fault: its file, value, what it does, the counters that it moves, and what the command gets
# as further arguments.
survive_faults() { # what the command uses, command...
	local fault value what moves arguments
	while read -r fault value what moves arguments; do
		read -r -a moves <<<"${moves//,/ }"
		read -r -a arguments <<<"$arguments"
		remember "${moves[@]}"
		echo "$value" >"$debug/rnic0p0/$fault"
		ok "faults: $1 survive ${what//_/ }" "${@:2}" "${arguments[@]}"
		ok "faults: ${what//_/ } of $1 move ${moves[*]}" soon all_grow "${moves[@]}"
		echo 0 >"$debug/rnic0p0/$fault"
	done
}
survive_faults connections pingpong a b <<-end
	rdma_lose_every 7 losses out_of_sequence,packet_seq_err -s 65536
	rdma_reorder_every 7 overtaken_packets out_of_sequence,packet_seq_err,duplicate_request -s 65536
	rdma_delay_ms 200 delays local_ack_timeout_err,duplicate_request -n 2
	rdma_mark_every 7 marks_of_congestion np_ecn_marked_roce_packets,np_cnp_sent,rp_cnp_handled -s 65536
end
if type -P ib_read_bw >/dev/null; then
	survive_faults reads perf ib_read_bw <<-end
		rdma_lose_every 7 lost_answers implied_nak_seq_err -s 65536
	end
fi
if type -P ib_send_bw >/dev/null; then
	remember out_of_buffer rnr_nak_retry_err
	ok "faults: a receiver with two buffers" perf ib_send_bw -r 2 -n 200
	ok "faults: it moves out_of_buffer and rnr_nak_retry_err" soon all_grow out_of_buffer rnr_nak_retry_err
fi
rings
vf rnic0p0 0 state disable
ok "faults: a connection over a dead link ends after its retries" soon retries_exceeded
vf rnic0p0 0 state auto
end_rings
ok "traffic: works again" soon pingpong a b
starts_or_ends() { listens a || ! kill -0 "$1"; } 2>/dev/null
limited() { # kilobytes of locked memory, size of the buffer: whether a server starts; prints its error if not
	ip netns exec a setpriv --bounding-set=-ipc_lock bash -c \
		"ulimit -l $1 && exec ibv_rc_pingpong -d roce0p0v0 -g 3 -s $2" >/tmp/server 2>&1 &
	soon starts_or_ends $!
	kill $! || { cat /tmp/server && return 1; }
	wait $! || true
} 2>/dev/null
ok "limits: memory is charged to the limit for locked memory" fails_with "couldn't register MR" limited 64 1000000
ok "limits: memory within the limit" limited 64 4096

# VLANs
for end in a:0:1 b:1:2; do
	IFS=: read -r ns number host <<<"$end"
	ip -n $ns link add link rnic0p0v$number name v7 type vlan id 7 && ip -n $ns link set v7 up
	ip -n $ns addr add 10.7.0.$host/24 dev v7
	end_of $ns roce0p0v$number 10.7.0.$host ffff:0a07:000$host v2
done
ok "traffic: GIDs of VLAN interfaces" pingpong a b
end_of a roce0p0v0 10.1.0.1 ffff:0a01:0001 v2 && end_of b roce0p0v1 10.1.0.2 ffff:0a01:0002 v2
vf rnic0p0 0 vlan 100 && vf rnic0p0 1 vlan 100
ok "traffic: VFs of one administrative VLAN" pingpong a b
vf rnic0p0 0 vlan 0 && vf rnic0p0 1 vlan 0

# Shared mode: GIDs of macvlan and ipvlan children are in their parent's table
for kind in macvlan ipvlan; do
	# Other addresses for each kind, because neighbours remember the last one's MAC.
	[[ $kind == macvlan ]] && mode=bridge children="c:0:11 d:1:12" || mode=l2 children="c:0:13 d:1:14"
	for end in $children; do
		IFS=: read -r ns number host <<<"$end"
		ip link add k$number link rnic0p0 type $kind mode "$mode" && pod $ns k$number 10.1.0.$host/24
		end_of $ns roce0p0 10.1.0.$host ffff:0a01:00"$(printf %02x $host)" v2
	done
	ok "traffic: two $kind children of one parent" pingpong c d
	ok "traffic: a $kind child and a VF" pingpong c a
	ip -n c link del k0 && ip -n d link del k1
done
ip link add k0 link rnic1p0 type macvlan mode bridge && pod c k0 10.1.0.15/24
end_of c roce1p0 10.1.0.15 ffff:0a01:000f v2
ok "traffic: over the wire to another card" pingpong c a

# Ends of programs, devices and the module
rings
ok "objects: of programs that run" user_queue_pairs 2
# shellcheck disable=SC2086 # two numbers
{ kill -9 $long && wait $long; } 2>/dev/null
ok "objects: vanish with killed programs" soon not user_queue_pairs 1
clear_pods
rdma system set netns exclusive
for end in a:0:1 b:1:2; do
	IFS=: read -r ns number host <<<"$end"
	ip netns add $ns && rdma dev set roce0p0v$number netns $ns && pod $ns rnic0p0v$number 10.1.0.$host/24
	ends[$ns]="roce0p0v$number 10.1.0.$host 3"
	soon in_ns $ns grep -rq "ffff:0a01:000$host" /sys/class/infiniband/roce0p0v$number/ports/1/gids/
done
ok "netns: RDMA devices in their pods' namespaces" pingpong a b
rings
ip netns add e
ok "netns: a device moves away from programs that use it" in_ns a rdma dev set roce0p0v0 netns e
ok "netns: their queue pairs are gone" not holds 'comm ibv_rc' in_ns e rdma resource show qp
ok "pci: VFs are removed under programs that use them" vfs rnic0p0 0
ok "module: programs that have mapped its memory hold it" fails_with 'in use' rmmod simrnic
end_rings
clear_pods
ok "module: unloads after them" soon rmmod simrnic

# rdma_rxe: it looks for its own devices by net device and driver
ok "rxe: the NIC loads" insmod "$RDMANET_HARNESS_MODULE" nics=2 vfs=2
up rnic0p0 rnic1p0
if modprobe rdma_rxe; then
	ok "rxe: the NIC's MTU changes beside rdma_rxe" ip link set rnic0p0 mtu 4200
	pod a rnic1p0 10.1.0.2/24 && ip addr add 10.1.0.1/24 dev rnic0p0
	ok "rxe: the other end answers" soon ping -q -c1 -W1 10.1.0.2
	for i in {1..5}; do echo 0123456789abcdef >/dev/udp/10.1.0.2/4791; done
	ok "rxe: UDP port 4791 without a queue pair goes to the net device" soon in_ns a \
		awk '/^Udp: [0-9]/ {exit !($3 >= 5)}' /proc/net/snmp
	clear_pods
	ok "rxe: a link of rdma_rxe on the NIC" rdma link add rxe0 type rxe netdev rnic1p0
	ok "rxe: its link is removed" rdma link del rxe0
else
	skip "rxe: beside the NIC" "rdma_rxe does not load"
fi

# InfiniBand
ok "traffic: InfiniBand cards" reload link_layer=ib,ib vfs=2
ib_pingpong() { # devices, arguments...
	timeout "$patience" ibv_rc_pingpong -d "$1" -n 20 -c "${@:3}" &
	soon listens_here
	timeout "$patience" ibv_rc_pingpong -d "$2" -n 20 -c "${@:3}" 127.0.0.1 && wait $!
}
ok "traffic: ibv_rc_pingpong from card to card" ib_pingpong ib0p0 ib1p0
ok "traffic: ibv_rc_pingpong with a device itself" ib_pingpong ib0p0 ib0p0 -s 65536
counting=(ib0p0 ib1p0)
# Only one direction is delayed here, by more than the pingpong's timeout of four times 67 ms.
survive_faults "InfiniBand connections" ib_pingpong ib0p0 ib1p0 <<-end
	rdma_lose_every 7 losses out_of_sequence,packet_seq_err -s 65536
	rdma_reorder_every 7 overtaken_packets out_of_sequence,packet_seq_err,duplicate_request -s 65536
	rdma_delay_ms 400 delays local_ack_timeout_err,duplicate_request -n 2
end
bad_pkeys() { ibv_devinfo -v -d "$1" | awk '$1 == "bad_pkey_cntr:" {print $2}'; }
counts_bad_pkeys() { (($(bad_pkeys "$1") > $2)); }
ib_perf() { # program, indices of the partition keys of server and client, arguments...
	local status
	timeout "$patience" "$1" -d ib0p0 -F -n 20 --pkey_index "$2" "${@:4}" >/tmp/server 2>&1 &
	soon listens_here
	timeout "$patience" "$1" -d ib1p0 -F -n 20 --pkey_index "$3" "${@:4}" 127.0.0.1
	status=$?
	((status == 0)) || kill $!
	wait $! || { cat /tmp/server && return 1; }
	return $status
}
if type -P ib_send_bw >/dev/null; then
	ok "traffic: InfiniBand in another partition" ib_perf ib_send_bw 2 2
	ok "counters: bad_pkey_cntr is zero" equal "$(bad_pkeys ib0p0)" 0x0
	ok "traffic: none between partitions" fails_with 'status 12' ib_perf ib_send_bw 1 2
	ok "counters: bad_pkey_cntr counts what came for another partition" counts_bad_pkeys ib0p0 0
	survive_faults "InfiniBand reads" ib_perf ib_read_bw 0 0 <<-end
		rdma_lose_every 7 lost_answers implied_nak_seq_err -s 65536
	end
fi

# Ports that require a global routing header
ok "traffic: InfiniBand cards whose ports require a GRH" reload link_layer=ib,ib ib_grh=1
ok "traffic: without a GRH no connection" fails_with 'modify QP to RTR' ib_pingpong ib0p0 ib1p0
soon not listens_here
ok "traffic: ibv_rc_pingpong with a GRH" ib_pingpong ib0p0 ib1p0 -g 0
modprobe ib_ipoib
for end in e:1:1 f:2:2; do
	IFS=: read -r ns card host <<<"$end"
	link=$(basename /sys/bus/pci/devices/000"$card":00:00.0/net/*)
	pod "$ns" "$link" 10.9.0."$host"/24
done
ok "traffic: IPoIB with a GRH" soon reach e 10.9.0.2
clear_pods
rmmod ib_ipoib

# A usual fabric: hosts are limited members of the default partition
ok "traffic: InfiniBand cards that are limited members" reload link_layer=ib,ib ib_limited=1
ok "infiniband: the default partition's key" equal "$(</sys/class/infiniband/ib0p0/ports/1/pkeys/0)" 0x7fff
if type -P ib_send_bw >/dev/null; then
	ok "traffic: none between limited members" fails_with 'status 12' ib_perf ib_send_bw 0 0
	ok "traffic: in the partition of which they are full members" ib_perf ib_send_bw 1 1
fi
