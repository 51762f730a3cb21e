#!/bin/bash
# Tests that the harness does what its documentation says: the guest, and the software NIC with PCI, frames, VF
# administration, links, GIDs, counters, faults, namespaces, InfiniBand and users' data. It boots the guest itself.
#
#   netns-harness/selftest.sh [infiniband|driver|traffic]   everything, or only this one of the long parts with the rest
#
# It prints a line for each claim and ends with "N passed, N failed, N skipped". The exit status is 0 if none failed.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[[ ${RDMANET_HARNESS_GUEST:-0} == 1 ]] || exec "$here/run.sh" "$here/selftest.sh" "$@"

passed=0 failed=0 skipped=0
debug=/sys/kernel/debug/simrnic

ok() { # claim, command...
	local claim=$1 output
	shift
	if output=$("$@" 2>&1); then
		printf 'ok - %s\n' "$claim"
		passed=$((passed + 1))
	else
		printf '#   %s\n' "$*" "${output:0:2000}"
		printf 'not ok - %s\n' "$claim"
		failed=$((failed + 1))
	fi
}
skip() {
	printf 'ok - %s # SKIP %s\n' "$1" "$2"
	skipped=$((skipped + 1))
}
not() { ! "$@"; }
# Namespaces end, GIDs appear and links settle a moment after the call that causes it.
soon() {
	local i
	for ((i = 0; i < 1200; i++)); do
		"$@" >/dev/null 2>&1 && return
		sleep 0.1
	done
	"$@"
}
equal() { [[ $1 == "$2" ]] || { echo "'$1' is not '$2'" && return 1; }; }
holds() { grep -qE -- "$1" <<<"$("${@:2}" 2>&1)" || { "${@:2}" && return 1; }; }
in_ns() { ip netns exec "$@"; }
reach() { in_ns "$1" ping -q -c1 -W2 "$2"; }
fails_with() { # error text, command...
	local output
	! output=$("${@:2}" 2>&1) && grep -qi -- "$1" <<<"$output"
}

reload() {
	rmmod simrnic || return
	# shellcheck disable=SC2086
	insmod "$RDMANET_HARNESS_MODULE" "$@"
}
up() {
	local link
	for link; do ip link set "$link" up || return; done
}
vfs() { echo 0 >"/sys/class/net/$1/device/sriov_numvfs" && echo "$2" >"/sys/class/net/$1/device/sriov_numvfs"; }
pod() { # namespace, link already in the host, address...
	local ns=$1 link=$2 address
	ip netns list | grep -qw "$ns" || ip netns add "$ns" || return
	ip link set "$link" netns "$ns" && ip -n "$ns" link set lo up && ip -n "$ns" link set "$link" up || return
	in_ns "$ns" sysctl -q -w "net.ipv6.conf.$link.accept_dad=0"
	for address in "${@:3}"; do ip -n "$ns" addr add "$address" dev "$link" || return; done
}
clear_pods() {
	local ns
	for ns in $(ip netns list | awk '{print $1}'); do ip netns del "$ns"; done
	soon no_namespaces
}
# Only "rdma system set" shows whether the kernel has removed the last namespace.
no_namespaces() { rdma system set netns exclusive && rdma system set netns shared; }
gids() { # device: each valid GID with the name of its net device
	local i port=/sys/class/infiniband/$1/ports/1
	for i in $(ls "$port/gids" | sort -n); do
		[[ $(<"$port/gids/$i") == 0000:0000:0000:0000:0000:0000:0000:0000 ]] ||
			echo "$i $(<"$port/gids/$i") $(<"$port/gid_attrs/ndevs/$i")"
	done 2>/dev/null
}
has_gid() { gids "$1" | grep -q "$2"; }
rdma_state() { rdma link show "$1/1" | grep -o 'state [A-Z]*' | head -1 | cut -d' ' -f2; }
counter() { ethtool -S "$1" | awk -v name="$2:" '$1 == name {print $2}'; }
carrier() { cat "/sys/class/net/$1/carrier"; }
real_time() { cat /sys/class/rtc/rtc0/since_epoch; }
next_second() {
	local now
	now=$(real_time)
	until (($(real_time) != now)); do :; done
}
keeps_time() {
	local began real clock
	next_second
	began=$(real_time) clock=$(cut -d' ' -f1 /proc/uptime)
	until (($(real_time) >= began + 4)); do :; done
	real=$(($(real_time) - began)) clock=$(awk -v then="$clock" '{print $1 - then}' /proc/uptime)
	echo "$clock s of the clock, $real s of real time"
	awk -v clock="$clock" -v real="$real" 'BEGIN {exit !(clock > 0.7 * real && clock < 1.4 * real + 1)}'
}
vf() { ip link set "$1" vf "$2" "${@:3}"; }

# The guest
ok "guest: stdout and stderr can be opened again" bash -c 'echo x >/dev/stderr; echo y >/dev/stdout'
ok "guest: cgroup2, debugfs, sysfs, /run/netns" test -e /sys/fs/cgroup/cgroup.procs -a -d $debug -a -d /run/netns
ok "guest: loopback answers" ping -q -c1 127.0.0.1
ok "guest: its clock runs as fast as this machine's real-time clock" keeps_time
ok "guest: strace injects a fault" fails_with EIO strace -f -e inject=openat:error=EIO cat /etc/passwd
for kind in macvlan ipvlan vlan veth bridge vrf dummy bond; do
	case $kind in
	macvlan | ipvlan) arguments=(link rnic0p0 name t0 type "$kind") ;;
	vlan) arguments=(link rnic0p0 name t0 type vlan id 7) ;;
	vrf) arguments=(name t0 type vrf table 7) ;;
	*) arguments=(name t0 type "$kind") ;;
	esac
	ok "guest: links of kind $kind" bash -c 'ip link add "$@" && ip link del t0' - "${arguments[@]}"
done

# PCI
ok "pci: two cards, PFs with SR-IOV" equal "$(cat /sys/bus/pci/devices/000{1,2}:00:00.0/sriov_totalvfs | xargs)" "8 8"
ok "pci: VFs are created" vfs rnic0p0 4
ok "pci: VFs have physfn, the PF has virtfnN" test -e /sys/bus/pci/devices/0001:00:01.3/physfn/virtfn3
ok "pci: VFs have net and RDMA devices" test -d /sys/bus/pci/devices/0001:00:01.2/net/rnic0p0v2 -a -d \
	/sys/bus/pci/devices/0001:00:01.2/infiniband/roce0p0v2
ok "pci: a number above TotalVFs is refused" fails_with range bash -c 'echo 9 >/sys/class/net/rnic1p0/device/sriov_numvfs'
ok "pci: a VF's driver can be unbound and bound" bash -c \
	'cd /sys/bus/pci/drivers/simrnic && echo 0001:00:01.1 >unbind && test ! -e /sys/class/net/rnic0p0v1 && echo 0001:00:01.1 >bind && test -e /sys/class/net/rnic0p0v1'
ok "pci: VFs are removed" bash -c 'echo 0 >/sys/class/net/rnic0p0/device/sriov_numvfs; test ! -e /sys/class/net/rnic0p0v0'
ok "pci: VFs that are created again have the same MAC addresses" bash -c \
	'echo 4 >/sys/class/net/rnic0p0/device/sriov_numvfs && test $(cat /sys/class/net/rnic0p0v3/address) = 02:52:00:00:00:04'

# Links
up rnic0p0 rnic1p0 rnic0p0v0 rnic0p0v1
ok "link: RDMA ports are active while their net devices are up" equal "$(rdma_state roce0p0) $(rdma_state roce0p0v0)" "ACTIVE ACTIVE"
ok "link: RDMA ports are down while their net devices are down" equal "$(rdma_state roce0p0v2)" DOWN
ip link set rnic0p0 down
ok "link: a PF that is down takes an auto VF's carrier and RDMA port down" equal "$(carrier rnic0p0v0) $(rdma_state roce0p0v0)" "0 DOWN"
vf rnic0p0 0 state enable
ok "link: state enable keeps the VF up while the PF is down" equal "$(carrier rnic0p0v0) $(rdma_state roce0p0v0)" "1 ACTIVE"
ip link set rnic0p0 up
vf rnic0p0 0 state disable
ok "link: state disable keeps the VF down" equal "$(carrier rnic0p0v0) $(carrier rnic0p0v1)" "0 1"
vf rnic0p0 0 state auto
echo 0 >$debug/rnic0p0/cable
ok "link: carrier is lost when the cable is pulled" equal "$(carrier rnic0p0) $(rdma_state roce0p0) $(carrier rnic0p0v0) $(carrier rnic1p0)" "0 DOWN 0 1"
echo 1 >$debug/rnic0p0/cable
ok "link: carrier returns when the cable is plugged in" equal "$(carrier rnic0p0) $(rdma_state roce0p0) $(carrier rnic0p0v0)" "1 ACTIVE 1"
ok "link: speed" holds 'Speed: 100000Mb/s' ethtool rnic0p0

# Frames
ip link add m0 link rnic0p0 type macvlan mode bridge && pod a m0 10.1.0.1/24 fd01::1/64
ip link add m1 link rnic1p0 type macvlan mode bridge && pod b m1 10.1.0.2/24 fd01::2/64
ok "frames: macvlan on one card to macvlan on the other, IPv4" reach a 10.1.0.2
ok "frames: macvlan on one card to macvlan on the other, IPv6" soon reach a fd01::2
vfs rnic0p0 4 && pod c rnic0p0v0 10.1.0.3/24 && pod d rnic0p0v1 10.1.0.4/24
ok "frames: VF to VF of one PF" soon reach c 10.1.0.4
datagrams_to_nobody() { in_ns d awk '/^Udp: [0-9]/ {print $3}' /proc/net/snmp; } # with a right checksum
arrives_beyond() { # number of datagrams before
	in_ns c bash -c 'echo 0123456789abcdef >/dev/udp/10.1.0.4/9'
	(($(datagrams_to_nobody) > $1))
}
for features in "rx on tx on sg on" "rx on tx off sg off" "rx off tx on sg on"; do
	# shellcheck disable=SC2086
	in_ns c ethtool -K rnic0p0v0 $features >/dev/null && in_ns d ethtool -K rnic0p0v1 $features >/dev/null
	ok "features: checksums are right with $features" soon arrives_beyond "$(datagrams_to_nobody)"
done
in_ns d ethtool -K rnic0p0v1 rx on >/dev/null
echo 1 >$debug/rnic0p0/features_fail
in_ns d ethtool -K rnic0p0v1 rx off &>/dev/null
ok "faults: the driver does not make a change of features" \
	equal "$(in_ns d ethtool -k rnic0p0v1 | grep ^rx-checksumming)" "rx-checksumming: on [requested off]"
ok "features: requested features differ from active ones" in_ns d ethtool -K rnic0p0v1 rx on
ok "frames: VF to macvlan on its PF" reach c 10.1.0.1
ok "frames: VF to macvlan on the other card" reach c 10.1.0.2
vf rnic0p0 0 vlan 100
ok "frames: a VLAN isolates" not reach c 10.1.0.4
vf rnic0p0 1 vlan 100 qos 3
ok "frames: VFs of one VLAN reach each other" reach c 10.1.0.4
vf rnic0p0 1 vlan 100 proto 802.1ad
ok "frames: 802.1ad and 802.1Q are different VLANs" not reach c 10.1.0.4
vf rnic0p0 0 vlan 100 proto 802.1ad
ok "frames: 802.1ad on both" reach c 10.1.0.4
vf rnic0p0 0 vlan 100 && vf rnic0p0 1 vlan 0
ip link add link rnic1p0 name v100 type vlan id 100 && pod e v100 10.1.0.5/24
ok "frames: a VF's VLAN is tagged on the wire" soon reach c 10.1.0.5
vf rnic0p0 0 vlan 0
vf rnic0p0 0 spoofchk on
before=$(in_ns c ethtool -S rnic0p0v0 | awk '/spoofchk/ {print $2}')
ip -n c link set rnic0p0v0 address 02:00:00:00:00:77
ok "frames: spoof check allows the VF's own address" reach c 10.1.0.4
vf rnic0p0 0 mac 02:00:00:00:00:88
ok "admin: the running VF takes the PF's MAC" equal "$(in_ns c cat /sys/class/net/rnic0p0v0/address)" 02:00:00:00:00:88
ok "admin: an untrusted VF may not change that MAC" fails_with permitted ip -n c link set rnic0p0v0 address 02:00:00:00:00:99
vf rnic0p0 0 trust on
ok "admin: a trusted VF may change that MAC" ip -n c link set rnic0p0v0 address 02:00:00:00:00:99
ok "frames: spoof check drops the wrong source" not reach c 10.1.0.4
ok "frames: spoof check counts what it dropped" test "$(in_ns c ethtool -S rnic0p0v0 | awk '/spoofchk/ {print $2}')" -gt "$before"
ok "admin: the PF shows all settings" holds 'vf 0 .*02:00:00:00:00:88.*spoof checking on, link-state auto, trust on' ip link show rnic0p0
ok "admin: rates" bash -c 'ip link set rnic0p0 vf 2 max_tx_rate 500 min_tx_rate 100 && ip link show rnic0p0 | grep -q "max_tx_rate 500Mbps, min_tx_rate 100Mbps"'
ok "admin: an absent VF is refused" fails_with invalid ip link set rnic0p0 vf 4 mac 02:00:00:00:00:01

# Faults
echo 1 >$debug/rnic0p0/vf_call_skip
echo 1 >$debug/rnic0p0/vf_call_fail
echo 16 >$debug/rnic0p0/vf_call_errno
ok "faults: a skipped call works" vf rnic0p0 2 spoofchk on
ok "faults: the next call fails with the requested errno" fails_with busy ip link set rnic0p0 vf 2 spoofchk off
ok "faults: the call after that works" vf rnic0p0 2 spoofchk off
echo 1 >$debug/rnic0p0/vf_call_ignore
vf rnic0p0 2 trust on
ok "faults: a call succeeds and changes nothing" holds 'vf 2 .*trust off' ip link show rnic0p0
echo 500 >$debug/rnic0p0/vf_call_delay_ms
start=${EPOCHREALTIME/./}
vf rnic0p0 2 trust off
ok "faults: a call is delayed" test $((${EPOCHREALTIME/./} - start)) -ge 500000
echo 0 >$debug/rnic0p0/vf_call_delay_ms
echo Y >$debug/rnic0p0/vf_untold
ok "faults: a PF does not report VF settings" bash -c '! ip link show rnic0p0 | grep -q "vf 2 .*max_tx_rate"'
echo N >$debug/rnic0p0/vf_untold

# GIDs and counters
ok "gid: a macvlan child's IPv4 address in another namespace" soon has_gid roce0p0 'ffff:0a01:0001 m0'
ok "gid: a macvlan child's IPv6 address in another namespace" soon has_gid roce0p0 'fd01:.*:0001 m0'
ip -n a addr del 10.1.0.1/24 dev m0
ok "gid: the GID vanishes with the address" soon not has_gid roce0p0 'ffff:0a01:0001 m0'
ip -n a link del m0 && ip link add i0 link rnic0p0 type ipvlan mode l2 && pod a i0 10.1.0.6/24
ok "gid: an ipvlan child's address" soon has_gid roce0p0 'ffff:0a01:0006 i0'
ok "frames: ipvlan to the other card" reach a 10.1.0.2
sent=/sys/class/infiniband/roce0p0/ports/1/counters/port_xmit_packets
before=$(<$sent)
in_ns a bash -c 'for i in {1..5}; do echo 0123456789abcdef >/dev/udp/10.1.0.2/4791; done'
ok "counters: port_xmit_packets of RoCE frames" test "$(<$sent)" -ge $((before + 5))
ok "counters: ethtool's vport_rdma" test "$(counter rnic0p0 tx_vport_rdma_unicast_packets)" -ge 5
ok "counters: RoCE frames at the receiver" test "$(counter rnic1p0 rx_vport_rdma_unicast_packets)" -ge 5
echo 42 >$debug/rnic0p0/out_of_sequence
ok "counters: out_of_sequence" soon grep -qx 42 /sys/class/infiniband/roce0p0/ports/1/hw_counters/out_of_sequence

# RDMA namespaces
clear_pods
ok "netns: a VF's net device returns when its namespace ends" soon test -e /sys/class/net/rnic0p0v0
ok "netns: exclusive mode" rdma system set netns exclusive
ip netns add a && ip link set rnic0p0v0 netns a
ok "netns: an RDMA device moves" rdma dev set roce0p0v0 netns a
ok "netns: the RDMA device is in the namespace" holds roce0p0v0 in_ns a rdma dev
ok "netns: the RDMA device is not on the host" not holds roce0p0v0 rdma dev
ip -n a link set rnic0p0v0 up && ip -n a addr add 10.1.0.1/24 dev rnic0p0v0
ok "netns: the RDMA device's GIDs appear in the namespace" soon in_ns a grep -rq 'ffff:0a01:0001' /sys/class/infiniband/roce0p0v0/ports/1/gids/
ok "netns: user contexts" test -c /dev/infiniband/uverbs0
ip netns del a
ok "netns: net device and RDMA device return when the namespace ends" soon test -e /sys/class/net/rnic0p0v0 -a -e /sys/class/infiniband/roce0p0v0
ip netns add a && ip link set rnic0p0v0 netns a && rdma dev set roce0p0v0 netns a
ok "netns: VFs in a namespace can be destroyed" bash -c 'echo 0 >/sys/class/net/rnic0p0/device/sriov_numvfs && ! ip -n a link show rnic0p0v0'
ip netns del a
soon rdma system set netns shared

# Loading and unloading, sizes
ok "module: unloads and loads with small GID tables" reload nics=1 ports=2 vfs=130 gid_table_len=6
up rnic0p0
ip link add m0 link rnic0p0 type macvlan mode bridge && pod a m0 10.1.0.{1..6}/24
ok "gid: the table's length" equal "$(ls /sys/class/infiniband/roce0p0/ports/1/gids | wc -l)" 6
table_is_full() { (($(gids roce0p0 | wc -l) == 6)); }
soon table_is_full
ok "gid: overflow leaves addresses without GIDs" not has_gid roce0p0 ffff:0a01:0006
ok "pci: two ports, 130 VFs each, across bus numbers" bash -c \
	'for p in 0 1; do echo 130 >/sys/class/net/rnic0p$p/device/sriov_numvfs || exit; done; test -e /sys/class/net/rnic0p1v129'
ok "module: unloads with VFs, children and namespaces in use" reload wire=0
up rnic0p0 rnic1p0
for i in 0 1; do ip link add n$i link rnic${i}p0 type macvlan mode bridge && pod w$i n$i 10.2.0.$i/24; done
ok "frames: wire=0 separates the ports" not reach w0 10.2.0.1
clear_pods

for part in infiniband driver traffic; do
	# shellcheck source=/dev/null # style checks each of them
	[[ ${1-$part} != "$part" ]] || . "$here/selftest_$part.sh"
done

# Software RoCE
ip link add x0 type veth peer name x1 && up x0 x1
if rdma link add rxe0 type rxe netdev x0; then
	ip link add m0 link x0 type macvlan mode bridge && pod a m0 10.1.0.1/24
	ok "rxe: a macvlan child's GIDs" soon has_gid rxe0 'ffff:0a01:0001 m0'
	clear_pods
	rdma link del rxe0
else
	skip "rxe: a macvlan child's GIDs" "rdma_rxe does not load"
fi

ok "kernel: no warning was logged" not grep -E 'Oops|BUG:|WARNING:|refcount_t|unregister_netdevice: waiting' <(dmesg)
printf '%d passed, %d failed, %d skipped\n' $passed $failed $skipped
[[ $failed == 0 ]]
