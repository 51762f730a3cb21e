#!/bin/bash
# shellcheck disable=SC2154 # sourced by selftest.sh, whose functions and counts these are
# InfiniBand cards: ports, IPoIB in both modes, partitions, GUIDs of VFs.

ipoib() { # PCI address: the name of the IPoIB net device there, not of its children
	local path
	for path in /sys/bus/pci/devices/"$1"/net/*; do
		[[ $(<"$path/pkey") == 0xffff && -e $path ]] && basename "$path"
	done
}
has_ipoib() { [[ -n $(ipoib "$1") ]]; }
has_carrier() { [[ $(carrier "$1") == 1 ]]; }
in_pod_carrier() { [[ $(ip -n "$1" -br link show "$2") == *LOWER_UP* ]]; }
ib_child() { # namespace, parent, child, key
	ip -n "$1" link add link "$2" name "$3" type ipoib pkey "$4" mode datagram && ip -n "$1" link set "$3" up
}
connect() { # namespace, child
	ip -n "$1" link set "$2" type ipoib mode connected && ip -n "$1" link set "$2" mtu 65520
}
connected_pod() { # namespace, parent in the host, child, address
	ip netns add "$1" && ip link add link "$2" name "$3" netns "$1" type ipoib pkey 0x8001 mode connected &&
		ip -n "$1" link set "$3" mtu 65520 up && ip -n "$1" addr add "$4" dev "$3" && soon in_pod_carrier "$1" "$3"
}
reach_whole() { in_ns "$1" ping -q -c1 -W2 -M "do" -s 60000 "$2"; }
connections() { # of RDMA devices
	local device
	for device; do rdma resource show qp link "$device/1" type RC state RTS | wc -l; done | xargs
}
has_connections() { [[ $(connections "$1") == "$2" ]]; }
sent() { in_ns "$1" sh -c 'cat /sys/class/net/*/statistics/tx_packets' | awk '{sum += $1} END {print sum}'; }
has_sent() { (($(sent "$1") >= $2)); }
flood() { # namespace, address
	local before
	before=$(sent "$1")
	ip netns exec "$1" ping -q -f -M "do" -s 60000 "$2" >/dev/null 2>&1 &
	flooder=$!
	soon has_sent "$1" $((before + 10))
}
end_flood() { kill "$flooder" && wait "$flooder"; } 2>/dev/null
rebind() { echo "$1" >/sys/bus/pci/drivers/simrnic/unbind && echo "$1" >/sys/bus/pci/drivers/simrnic/bind; }

ib=/sys/class/infiniband
ok "infiniband: Ethernet and InfiniBand cards in one guest" reload nics=3 vfs=2 link_layer=eth,ib,ib
ok "infiniband: link layers" equal "$(cat $ib/{roce0p0,ib1p0,ib2p0}/ports/1/link_layer | xargs)" "Ethernet InfiniBand InfiniBand"
ok "infiniband: LID and subnet manager" equal "$(cat $ib/{ib1p0,ib2p0}/ports/1/{lid,sm_lid} | xargs)" "0x5 0x1 0x8 0x1"
ok "infiniband: port GID" equal "$(<$ib/ib1p0/ports/1/gids/0)" fe80:0000:0000:0000:0052:01ff:fe00:0000
ok "infiniband: partition keys" equal "$(cat $ib/ib1p0/ports/1/pkeys/{0,1,2,3,4} | xargs)" "0xffff 0x8001 0x8002 0x8003 0x0000"
modprobe ib_ipoib
ok "infiniband: IPoIB net devices" equal "$(ipoib 0002:00:00.0) $(ipoib 0003:00:00.0)" "ib0 ib1"
ok "infiniband: VFs are created" bash -c 'echo 2 >/sys/bus/pci/devices/0002:00:00.0/sriov_numvfs'
ok "infiniband: VFs have RDMA devices, and IPoIB on them" test -d $ib/ib1p0v1 -a -n "$(ipoib 0002:00:01.1)"

up ib0
ok "infiniband: IPoIB joins its broadcast group" soon has_carrier ib0
ip addr add 10.3.0.1/24 dev ib0
pod b ib1 10.3.0.2/24
soon in_pod_carrier b ib1
ok "infiniband: IPoIB from card to card" soon ping -q -c1 -W2 10.3.0.2
sent=$ib/ib1p0/ports/1/counters/port_xmit_packets
before=$(<$sent)
ping -q -c2 -i0.2 10.3.0.2 >/dev/null
ok "infiniband: IPoIB packets are counted" test "$(<$sent)" -ge $((before + 2))
ok "infiniband: a kernel user's queue pair of RDMA CM" insmod "$(dirname "$RDMANET_HARNESS_MODULE")/simrnic_user.ko" address=10.3.0.1
ok "infiniband: RDMA CM's connection has the user's name" holds 'comm \[simrnic_user\]' rdma resource show cm_id link ib1p0
ok "infiniband: its queue pair has RDMA CM's name" holds 'type RC .*comm \[rdma_cm\]' rdma resource show qp link ib1p0
rmmod simrnic_user
v0=$(ipoib 0002:00:01.0)
pod c "$v0" 10.3.0.3/24
soon in_pod_carrier c "$v0"
ok "infiniband: IPoIB from a VF to its PF" soon reach c 10.3.0.1
ok "infiniband: IPoIB from a VF to the other card" soon reach c 10.3.0.2
ip link add link ib0 name k1 netns c type ipoib pkey 0x8001 mode datagram && ip -n c link set k1 up
ok "infiniband: a child is created in a pod" soon in_pod_carrier c k1
ib_child b ib1 k1 0x8001
ib_child b ib1 k2 0x8002
soon in_pod_carrier b k1 && soon in_pod_carrier b k2
ip -n c addr add 10.4.0.1/24 dev k1
ip -n b addr add 10.4.0.2/24 dev k1
ip -n b addr add 10.4.0.3/24 dev k2
ok "infiniband: children of one partition reach each other" soon reach c 10.4.0.2
in_ns b sysctl -q -w net.ipv4.conf.all.arp_ignore=1
ok "infiniband: each partition has its own groups" not reach c 10.4.0.3
ip -n c neigh replace 10.4.0.3 dev k1 lladdr "$(in_ns b cat /sys/class/net/k2/address)"
ok "infiniband: partitions are separate even if the address is known" not reach c 10.4.0.3
ip -n c neigh replace 10.4.0.2 dev k1 lladdr "$(in_ns b cat /sys/class/net/k1/address)"
ok "infiniband: in the same partition a known address is enough" reach c 10.4.0.2

ok "infiniband: datagram mode refuses large packets" not reach_whole c 10.4.0.2
connect c k1
ok "infiniband: a connected child reaches a datagram child" soon reach_whole c 10.4.0.2
ok "infiniband: it sends datagrams to that child" equal "$(connections ib1p0 ib2p0)" "1 1"
ok "infiniband: it sends only small packets to that child" not reach_whole b 10.4.0.1
connect b k1
ok "infiniband: connected children reach each other" soon reach_whole b 10.4.0.1
ok "infiniband: they have a connection in each direction" equal "$(connections ib1p0 ib2p0)" "2 2"
before=$(<$sent)
reach_whole c 10.4.0.2 >/dev/null
ok "infiniband: a connection counts packets, not messages" test "$(<$sent)" -ge $((before + 60000 / 4096))
connected_pod e ib0 k1 10.4.0.5/24
ok "infiniband: children of one port are connected" soon reach_whole e 10.4.0.1
ok "infiniband: both ends of these connections are on the same port" equal "$(connections ib1p0 ib2p0)" "6 2"
flood c 10.4.0.5
ip netns del e
ok "infiniband: connections that carry data end with their namespace" soon has_connections ib1p0 2
end_flood

ib_child b ib1 k9 0x8009
ib_child b ib1 k3 0x8003
soon in_pod_carrier b k3
ok "infiniband: a child with a key that the port lacks has no carrier" bash -c \
	'ip -n b -br link show k9 | grep -q NO-CARRIER'

echo 0 >$debug/rnic1p0/cable
ok "infiniband: a pulled cable" equal "$(rdma_state ib1p0) $(rdma_state ib1p0v0) $(rdma_state ib2p0)" "DOWN DOWN ACTIVE"
ok "infiniband: IPoIB loses its carrier with the cable" soon not has_carrier ib0
echo 1 >$debug/rnic1p0/cable
ok "infiniband: the port is active again with the cable" soon has_carrier ib0
ok "infiniband: packets arrive again with the cable" soon ping -q -c1 -W2 10.3.0.2

echo 0 >$debug/rnic1p0/subnet_manager
port_ids() { cat $ib/ib1p0/ports/1/lid $ib/ib1p0/ports/1/sm_lid | xargs; }
ok "infiniband: a port without a subnet manager is in INIT" equal "$(rdma_state ib1p0) $(rdma_state ib1p0v0) $(rdma_state ib2p0) $(port_ids)" \
	"INIT INIT ACTIVE 0x0 0x0"
echo 1 >$debug/rnic1p0/subnet_manager
ok "infiniband: a port with a subnet manager is active again" equal "$(rdma_state ib1p0) $(port_ids)" "ACTIVE 0x5 0x1"
ok "infiniband: packets arrive again with the subnet manager" soon ping -q -c1 -W2 10.3.0.2

ok "infiniband: a VF's link state is set" vf ib0 1 state disable
ok "infiniband: the link state reaches the VF" equal "$(rdma_state ib1p0v1) $(rdma_state ib1p0v0)" "DOWN ACTIVE"
vf ib0 1 state auto
ok "infiniband: VF GUIDs before they are set" holds 'vf 1 .*NODE_GUID 00:00:00:00:00:00:00:00, PORT_GUID 00:00:00:00:00:00:00:00' ip link show ib0
ok "infiniband: a node GUID is set" vf ib0 1 node_guid 02:00:00:00:00:00:00:aa
ok "infiniband: a port GUID is set" vf ib0 1 port_guid 02:00:00:00:00:00:00:bb
ok "infiniband: the PF shows both GUIDs" holds 'vf 1 .*NODE_GUID 02:00:00:00:00:00:00:aa, PORT_GUID 02:00:00:00:00:00:00:bb, link-state auto' ip link show ib0
ok "infiniband: the bound VF keeps its own GUIDs" equal "$(<$ib/ib1p0v1/node_guid) $(<$ib/ib1p0v1/ports/1/gids/0)" \
	"0052:01ff:fe00:0002 fe80:0000:0000:0000:0052:01ff:fe00:0002"
rebind 0002:00:01.1
ok "infiniband: the VF has the GUIDs after its next probe" equal "$(<$ib/ib1p0v1/node_guid) $(<$ib/ib1p0v1/ports/1/gids/0)" \
	"0200:0000:0000:00aa fe80:0000:0000:0000:0200:0000:0000:00bb"
v1=$(ipoib 0002:00:01.1)
ok "infiniband: IPoIB's address has the port GUID" holds '02:00:00:00:00:00:00:bb$' cat "/sys/class/net/$v1/address"
pod d "$v1" 10.3.0.4/24
soon in_pod_carrier d "$v1"
ok "infiniband: packets reach that address" soon reach d 10.3.0.2
echo 1 >$debug/rnic1p0/vf_call_fail
echo 16 >$debug/rnic1p0/vf_call_errno
ok "infiniband: faults of VF administration" fails_with busy ip link set ib0 vf 0 node_guid 02:00:00:00:00:00:00:cc
ok "infiniband: an absent VF is refused" fails_with invalid ip link set ib0 vf 2 node_guid 02:00:00:00:00:00:00:cc

flood c 10.4.0.2
ok "infiniband: a driver is unbound while its connections carry data" rebind 0003:00:00.0
ok "infiniband: the other end's connections end too" soon has_connections ib1p0 0
end_flood
clear_pods

rdma system set netns exclusive
ip netns add a
ok "infiniband: an RDMA device moves" rdma dev set ib1p0v0 netns a
ok "infiniband: the RDMA device is in the namespace" holds 'ib1p0v0.* 0052:01ff:fe00:0001' in_ns a rdma dev
ip netns del a
ok "infiniband: the RDMA device returns" soon test -e $ib/ib1p0v0
ok "infiniband: the RDMA device returns with an IPoIB net device" soon has_ipoib 0002:00:01.0
soon rdma system set netns shared
modprobe -r ib_ipoib && modprobe ib_ipoib recv_queue_size=2
for i in 0 1; do
	parent=$(ipoib "000$((i + 2)):00:00.0")
	up "$parent" && connected_pod w$i "$parent" k3 10.4.0.1$i/24
done
soon reach_whole w0 10.4.0.11
ip -n w0 link set k3 mtu 9000
ok "infiniband: a sender of seven fragments waits for a receiver of two" in_ns w0 ping -q -c1 -W2 -s 60000 10.4.0.11
ip -n w0 link set k3 mtu 65520
flood w0 10.4.0.11
echo 0 >$debug/rnic2p0/cable
ok "infiniband: a pulled cable ends connections that carry data" soon not has_connections ib1p0 2
echo 1 >$debug/rnic2p0/cable
ok "infiniband: new connections work after the cable is back" soon reach_whole w1 10.4.0.10
# If an interface goes away while it is up, IPoIB destroys its completion queue under connections that its worker has
# not reaped yet (ipoib_cm_tx_reap(), drivers/infiniband/ulp/ipoib/ipoib_cm.c), and warns.
for i in 0 1; do ip -n w$i link set k3 down; done
ok "infiniband: setting interfaces down ends connections that carry data" soon has_connections ib1p0 0
ok "infiniband: the module unloads" reload
end_flood
ok "infiniband: all requests completed within IPoIB's timeout of 5 s" not grep -E 'RX drain timing out|sends not completed' <(dmesg)
clear_pods
ok "infiniband: an unknown link layer is refused" bash -c \
	"rmmod simrnic; ! insmod $RDMANET_HARNESS_MODULE link_layer=token-ring 2>/dev/null && insmod $RDMANET_HARNESS_MODULE"
