#!/bin/bash
# shellcheck disable=SC2154 # sourced by selftest.sh, whose functions and counts these are
# The driver's options: RDMA devices that move slowly or not at all, VFs that appear slowly, another driver, sub-functions,
# several RDMA devices and ports, and a kernel module that uses them.

milliseconds() { # command...: how long it takes
	local start=${EPOCHREALTIME/./}
	"$@" && echo $(((${EPOCHREALTIME/./} - start) / 1000))
}
pci=/sys/bus/pci
bind() { echo "$1" >$pci/drivers/simrnic/bind; }
unbind() { echo "$1" >$pci/devices/"$1"/driver/unbind; }
v0=0001:00:01.0

ok "driver: loads with parameters" reload vfs=2 movable=1,0 vfio_pci=1
vfs rnic0p0 2 && vfs rnic1p0 2
rdma system set netns exclusive
ip netns add a
ok "driver: movable=0 refuses to move" fails_with 'not supported' rdma dev set roce1p0v0 netns a
ok "driver: and leaves the device where it is" holds roce1p0v0 rdma dev
echo 700 >$debug/rnic0p0/rdma_move_delay_ms
ok "driver: rdma_move_delay_ms delays a move" test "$(milliseconds rdma dev set roce0p0v0 netns a)" -ge 700
echo 1500 >$debug/rnic0p0/rdma_move_delay_ms
ip netns del a
ok "driver: and a return: not there yet" not test -e /sys/class/infiniband/roce0p0v0
ok "driver: there at last" soon test -e /sys/class/infiniband/roce0p0v0
echo 60000 >$debug/rnic0p0/rdma_move_delay_ms
ok "driver: but not what happens without a move" test "$(milliseconds unbind $v0)" -lt 30000
echo 0 >$debug/rnic0p0/rdma_move_delay_ms
soon rdma system set netns shared

echo 700 >$debug/rnic0p0/vf_probe_delay_ms
ok "driver: vf_probe_delay_ms delays binding" test "$(milliseconds bind $v0)" -ge 700
ok "driver: then the devices are there" test -e /sys/class/net/rnic0p0v0 -a -e /sys/class/infiniband/roce0p0v0
echo 0 >$debug/rnic0p0/vf_probe_delay_ms
unbind $v0
echo 2000 >$debug/rnic0p0/vf_devices_delay_ms
ok "driver: vf_devices_delay_ms lets binding return" bind $v0
ok "driver: before the devices are there" not test -e $pci/devices/$v0/net
ok "driver: they come" soon test -e /sys/class/net/rnic0p0v0 -a -e /sys/class/infiniband/roce0p0v0
unbind $v0 && bind $v0
ok "driver: a VF can be unbound before its devices come" unbind $v0
echo 0 >$debug/rnic0p0/vf_devices_delay_ms

function=$debug/rnic0p0/vf0
bind $v0
echo 7 >$function/residue
unbind $v0 && bind $v0
ok "reset: what is in a function outlives its driver" equal "$(<$function/residue)" 7
vf rnic0p0 0 vlan 100
unbind $v0
ok "reset: the kernel has found how" equal "$(<$pci/devices/$v0/reset_method)" flr
ok "reset: of a VF without a driver" bash -c "echo 1 >$pci/devices/$v0/reset"
ok "reset: takes what is in the function, not what its PF decided" equal \
	"$(<$function/residue) $(ip link show rnic0p0 | grep -c 'vlan 100')" "0 1"
bind $v0
ok "reset: of a VF with a driver is told" bash -c \
	"echo 1 >$pci/devices/$v0/reset && test \$(<$function/resets) = 2 -a \$(<$function/resets_under_driver) = 1"
echo >$pci/devices/$v0/reset_method
ok "reset: fails without a method" not bash -c "echo 1 >$pci/devices/$v0/reset"
echo Y >$debug/rnic0p0/vf_no_flr && vfs rnic0p0 2
ok "reset: vf_no_flr makes VFs that have none" not test -e $pci/devices/$v0/reset
echo N >$debug/rnic0p0/vf_no_flr && vfs rnic0p0 2
ok "reset: and without it they have it again" test -e $pci/devices/$v0/reset -a "$(<$function/resets)" = 0
unbind $v0

ok "driver: vfio-pci takes nothing by itself" not bash -c "echo $v0 >$pci/drivers/vfio-pci/bind"
echo vfio-pci >$pci/devices/$v0/driver_override
ok "driver: vfio-pci takes a VF whose driver_override names it" bash -c "echo $v0 >$pci/drivers_probe"
ok "driver: it is bound" equal "$(basename "$(readlink $pci/devices/$v0/driver)")" vfio-pci
ok "driver: and has no devices" not test -e $pci/devices/$v0/net -o -e $pci/devices/$v0/infiniband
ok "driver: its PF still administrates it" vf rnic0p0 0 mac 02:00:00:00:00:66
unbind $v0
echo >$pci/devices/$v0/driver_override
ok "driver: simrnic takes it back" bind $v0
ok "driver: with the MAC set meanwhile" equal "$(cat /sys/class/net/rnic0p0v0/address)" 02:00:00:00:00:66

ok "sub-functions: load" reload nics=2 vfs=2 sfs=2 link_layer=eth,ib
ok "sub-functions: of Ethernet PFs" equal "$(cd /sys/bus/auxiliary/devices && echo simrnic.sf.*)" "simrnic.sf.0 simrnic.sf.1"
ok "sub-functions: net and RDMA devices" test -d /sys/bus/auxiliary/devices/simrnic.sf.1/net/rnic0p0s1 -a -d \
	/sys/bus/auxiliary/devices/simrnic.sf.1/infiniband/roce0p0s1
ok "sub-functions: MAC addresses" equal "$(cat /sys/class/net/rnic0p0s1/address)" 02:52:00:00:80:01
vfs rnic0p0 2
up rnic0p0
pod a rnic0p0s0 10.5.0.1/24
pod b rnic0p0v1 10.5.0.2/24
ok "sub-functions: reach VFs" soon reach a 10.5.0.2
ok "sub-functions: have GIDs" soon has_gid roce0p0s0 'ffff:0a05:0001 rnic0p0s0'
clear_pods
sf=/sys/bus/auxiliary/drivers/simrnic.sf
ok "sub-functions: unbind" bash -c "echo simrnic.sf.1 >$sf/unbind && ! test -e /sys/class/net/rnic0p0s1"
ok "sub-functions: bind" bash -c "echo simrnic.sf.1 >$sf/bind && test -e /sys/class/net/rnic0p0s1"
unbind 0001:00:00.0
ok "sub-functions: go with their PF" not test -e /sys/bus/auxiliary/devices/simrnic.sf.0
bind 0001:00:00.0
ok "sub-functions: come with it" test -e /sys/class/net/rnic0p0s1

eswitch() { devlink dev eswitch set pci/0001:00:00.0 mode "$1"; }
phys_port_names() { (cd $pci/devices/0001:00:00.0/net && for name in *; do echo "$name $(<"$name/phys_port_name")"; done | xargs); }
reload nics=2 vfs=2
ok "switchdev: the mode is legacy" holds 'mode legacy' devlink dev eswitch show pci/0001:00:00.0
vfs rnic0p0 2
ok "switchdev: the mode changes" eswitch switchdev
ok "switchdev: VFs have representors beside the PF, by their names" equal "$(phys_port_names)" "rep0p0v0 pf0vf0 rep0p0v1 pf0vf1 rnic0p0 p0"
ok "switchdev: one switch" equal "$(cat /sys/class/net/{rnic0p0,rep0p0v1}/phys_switch_id | xargs)" "025200000000 025200000000"
pod a rnic0p0v0 10.6.0.1/24
pod b rnic0p0v1 10.6.0.2/24
pod c rnic1p0 10.6.0.3/24
up rnic0p0 rep0p0v0 rep0p0v1
ok "switchdev: nothing is forwarded by itself" not reach a 10.6.0.2
ip link add br0 type bridge
for link in rnic0p0 rep0p0v0 rep0p0v1; do ip link set $link master br0; done
up br0
ok "switchdev: a bridge of representors does" soon reach a 10.6.0.2
ok "switchdev: and to the wire, with the PF in it" soon reach a 10.6.0.3
ok "switchdev: tags of the PF are refused" fails_with 'not supported' vf rnic0p0 0 vlan 5
ok "switchdev: but for none" vf rnic0p0 0 vlan 0
ip link del br0
clear_pods
vfs rnic0p0 0
ok "switchdev: representors go with their VFs" equal "$(phys_port_names)" "rnic0p0 p0"
vfs rnic0p0 1
ok "switchdev: and come with them" equal "$(phys_port_names)" "rep0p0v0 pf0vf0 rnic0p0 p0"
eswitch legacy
ok "switchdev: and go with the mode" equal "$(phys_port_names)" "rnic0p0 p0"

ok "RDMA devices: two of a function, with two ports" reload nics=1 vfs=2 rdma_devices=2 rdma_ports=2
vfs rnic0p0 1
up rnic0p0
ok "RDMA devices: names" equal "$(cd $pci/devices/0001:00:00.0/infiniband && echo *) $(cd $pci/devices/$v0/infiniband && echo *)" \
	"roce0p0 roce0p0d1 roce0p0v0 roce0p0v0d1"
ok "RDMA devices: node GUIDs" equal "$(cat /sys/class/infiniband/roce0p0{,d1}/node_guid | xargs)" "0052:00ff:fe00:0000 0052:00fe:fe00:0000"
ok "RDMA devices: ports" equal "$(cd /sys/class/infiniband/roce0p0/ports && echo *)" "1 2"
ok "RDMA devices: both have the net device and its link" equal \
	"$(rdma link show roce0p0d1/1 | grep -o 'state ACTIVE.*netdev [^ ]*')" "state ACTIVE physical_state LINK_UP netdev rnic0p0"
ok "RDMA devices: the second port has none" not holds 'ACTIVE|netdev' rdma link show roce0p0/2
rdma system set netns exclusive
ip netns add a
ok "RDMA devices: one moves without the other" bash -c \
	'rdma dev set roce0p0v0d1 netns a && rdma dev | grep -q " roce0p0v0:" && ip netns exec a rdma dev | grep -q " roce0p0v0d1:"'

user=$(dirname "$RDMANET_HARNESS_MODULE")/simrnic_user.ko
qp_owners() { rdma resource show qp link "$1" | grep -o 'comm .*' | xargs; }
ok "kernel users: another module's queue pairs" insmod "$user" device=roce0p0v0 queue_pairs=2
ok "kernel users: beside the driver's own" equal "$(qp_owners roce0p0v0)" "comm [simrnic] comm [simrnic_user] comm [simrnic_user]"
ok "kernel users: a move takes them away" bash -c \
	'rdma dev set roce0p0v0 netns a && ! ip netns exec a rdma resource show qp | grep "\[simrnic_user\]"'
ip netns del a
ok "kernel users: for good" soon equal "$(soon rdma dev show roce0p0v0 && qp_owners roce0p0v0)" "comm [simrnic]"
ok "kernel users: of no such device" fails_with 'no such device' bash -c "rmmod simrnic_user && insmod $user device=none"
soon rdma system set netns shared
