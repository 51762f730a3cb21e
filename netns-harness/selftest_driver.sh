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
ok "driver: movable=0 leaves the device where it is" holds roce1p0v0 rdma dev
echo 700 >$debug/rnic0p0/rdma_move_delay_ms
ok "driver: rdma_move_delay_ms delays a move" test "$(milliseconds rdma dev set roce0p0v0 netns a)" -ge 700
echo 1500 >$debug/rnic0p0/rdma_move_delay_ms
ip netns del a
ok "driver: rdma_move_delay_ms delays a return" not test -e /sys/class/infiniband/roce0p0v0
ok "driver: the device returns after the delay" soon test -e /sys/class/infiniband/roce0p0v0
echo 60000 >$debug/rnic0p0/rdma_move_delay_ms
ok "driver: rdma_move_delay_ms does not delay anything else" test "$(milliseconds unbind $v0)" -lt 30000
echo 0 >$debug/rnic0p0/rdma_move_delay_ms
soon rdma system set netns shared

echo 700 >$debug/rnic0p0/vf_probe_delay_ms
ok "driver: vf_probe_delay_ms delays binding" test "$(milliseconds bind $v0)" -ge 700
ok "driver: the devices exist after binding" test -e /sys/class/net/rnic0p0v0 -a -e /sys/class/infiniband/roce0p0v0
echo 0 >$debug/rnic0p0/vf_probe_delay_ms
unbind $v0
echo 2000 >$debug/rnic0p0/vf_devices_delay_ms
ok "driver: with vf_devices_delay_ms binding returns at once" bind $v0
ok "driver: the devices do not exist yet" not test -e $pci/devices/$v0/net
ok "driver: the devices appear later" soon test -e /sys/class/net/rnic0p0v0 -a -e /sys/class/infiniband/roce0p0v0
unbind $v0 && bind $v0
ok "driver: a VF can be unbound before its devices come" unbind $v0
echo 0 >$debug/rnic0p0/vf_devices_delay_ms

function=$debug/rnic0p0/vf0
bind $v0
echo 7 >$function/residue
unbind $v0 && bind $v0
ok "reset: a function's own state outlives its driver" equal "$(<$function/residue)" 7
vf rnic0p0 0 vlan 100
unbind $v0
ok "reset: the kernel has found a method" equal "$(<$pci/devices/$v0/reset_method)" flr
ok "reset: a VF without a driver can be reset" bash -c "echo 1 >$pci/devices/$v0/reset"
ok "reset: clears the function's own state, not the PF's settings" equal \
	"$(<$function/residue) $(ip link show rnic0p0 | grep -c 'vlan 100')" "0 1"
bind $v0
ok "reset: a reset of a VF with a driver is counted" bash -c \
	"echo 1 >$pci/devices/$v0/reset && test \$(<$function/resets) = 2 -a \$(<$function/resets_under_driver) = 1"
echo >$pci/devices/$v0/reset_method
ok "reset: fails without a method" not bash -c "echo 1 >$pci/devices/$v0/reset"
echo Y >$debug/rnic0p0/vf_no_flr && vfs rnic0p0 2
ok "reset: VFs have no method with vf_no_flr" not test -e $pci/devices/$v0/reset
echo N >$debug/rnic0p0/vf_no_flr && vfs rnic0p0 2
ok "reset: VFs have a method again without vf_no_flr" test -e $pci/devices/$v0/reset -a "$(<$function/resets)" = 0
unbind $v0

ok "driver: vfio-pci binds nothing by itself" not bash -c "echo $v0 >$pci/drivers/vfio-pci/bind"
echo vfio-pci >$pci/devices/$v0/driver_override
ok "driver: vfio-pci binds a VF whose driver_override names it" bash -c "echo $v0 >$pci/drivers_probe"
ok "driver: the VF is bound to vfio-pci" equal "$(basename "$(readlink $pci/devices/$v0/driver)")" vfio-pci
ok "driver: the VF has no devices then" not test -e $pci/devices/$v0/net -o -e $pci/devices/$v0/infiniband
ok "driver: its PF still administers the VF" vf rnic0p0 0 mac 02:00:00:00:00:66
unbind $v0
echo >$pci/devices/$v0/driver_override
ok "driver: simrnic binds the VF again" bind $v0
ok "driver: the VF has the MAC that was set meanwhile" equal "$(cat /sys/class/net/rnic0p0v0/address)" 02:00:00:00:00:66

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
ok "sub-functions: they vanish with their PF's driver" not test -e /sys/bus/auxiliary/devices/simrnic.sf.0
bind 0001:00:00.0
ok "sub-functions: they return with their PF's driver" test -e /sys/class/net/rnic0p0s1

roce() { devlink dev param set pci/0001:00:00.0 name enable_roce value "$1" cmode driverinit && devlink dev reload pci/0001:00:00.0; }
reload nics=2 vfs=2
vfs rnic0p0 1
ok "enable_roce: false, and a reload" roce false
ok "enable_roce: the PF has no RDMA device then, and its VF has" test ! -e /sys/class/infiniband/roce0p0 -a -e /sys/class/infiniband/roce0p0v0
ok "enable_roce: true, and a reload" roce true
ok "enable_roce: the RDMA device is back" test -e /sys/class/infiniband/roce0p0
roce false && unbind 0001:00:00.0 && bind 0001:00:00.0
ok "enable_roce: a new driver begins with true" test -e /sys/class/infiniband/roce0p0
ok "flow control: PFC is off" holds '0:off .*7:off' dcb pfc show dev rnic0p0
ok "flow control: PFC of one priority" dcb pfc set dev rnic0p0 prio-pfc 3:on
ok "flow control: global pause" ethtool -A rnic0p0 rx on
unbind 0001:00:00.0 && bind 0001:00:00.0
ok "flow control: PFC outlives the driver" holds '2:off 3:on 4:off' dcb pfc show dev rnic0p0
ok "flow control: global pause outlives the driver" holds 'RX:\s*on' ethtool -a rnic0p0
ok "flow control: the other port has its own" holds '0:off .*7:off' dcb pfc show dev rnic1p0

eswitch() { devlink dev eswitch set pci/0001:00:00.0 mode "$1"; }
phys_port_names() { (cd $pci/devices/0001:00:00.0/net && for name in *; do echo "$name $(<"$name/phys_port_name")"; done | xargs); }
reload nics=2 vfs=2
ok "switchdev: the mode is legacy" holds 'mode legacy' devlink dev eswitch show pci/0001:00:00.0
vfs rnic0p0 2
ok "switchdev: the mode changes" eswitch switchdev
ok "switchdev: phys_port_name shows the VFs' representors beside the PF" equal "$(phys_port_names)" "rep0p0v0 pf0vf0 rep0p0v1 pf0vf1 rnic0p0 p0"
ok "switchdev: one switch" equal "$(cat /sys/class/net/{rnic0p0,rep0p0v1}/phys_switch_id | xargs)" "025200000000 025200000000"
pod a rnic0p0v0 10.6.0.1/24
pod b rnic0p0v1 10.6.0.2/24
pod c rnic1p0 10.6.0.3/24
up rnic0p0 rep0p0v0 rep0p0v1
ok "switchdev: the switch forwards nothing" not reach a 10.6.0.2
ip link add br0 type bridge
for link in rnic0p0 rep0p0v0 rep0p0v1; do ip link set $link master br0; done
up br0
ok "switchdev: a bridge of representors forwards" soon reach a 10.6.0.2
ok "switchdev: a bridge with the PF forwards to the wire" soon reach a 10.6.0.3
ok "switchdev: VLANs of VFs are refused" fails_with 'not supported' vf rnic0p0 0 vlan 5
ok "switchdev: VLAN 0 is accepted" vf rnic0p0 0 vlan 0
ip link del br0
clear_pods
vfs rnic0p0 0
ok "switchdev: representors vanish with their VFs" equal "$(phys_port_names)" "rnic0p0 p0"
vfs rnic0p0 1
ok "switchdev: representors appear with their VFs" equal "$(phys_port_names)" "rep0p0v0 pf0vf0 rnic0p0 p0"
eswitch legacy
ok "switchdev: representors vanish with the mode" equal "$(phys_port_names)" "rnic0p0 p0"

ok "RDMA devices: a function has two, each with two ports" reload nics=1 vfs=2 rdma_devices=2 rdma_ports=2
vfs rnic0p0 1
up rnic0p0
ok "RDMA devices: names" equal "$(cd $pci/devices/0001:00:00.0/infiniband && echo *) $(cd $pci/devices/$v0/infiniband && echo *)" \
	"roce0p0 roce0p0d1 roce0p0v0 roce0p0v0d1"
ok "RDMA devices: node GUIDs" equal "$(cat /sys/class/infiniband/roce0p0{,d1}/node_guid | xargs)" "0052:00ff:fe00:0000 0052:00fe:fe00:0000"
ok "RDMA devices: ports" equal "$(cd /sys/class/infiniband/roce0p0/ports && echo *)" "1 2"
ok "RDMA devices: both have the net device and its link" equal \
	"$(rdma link show roce0p0d1/1 | grep -o 'state ACTIVE.*netdev [^ ]*')" "state ACTIVE physical_state LINK_UP netdev rnic0p0"
ok "RDMA devices: the second port has no net device" not holds 'ACTIVE|netdev' rdma link show roce0p0/2
rdma system set netns exclusive
ip netns add a
ok "RDMA devices: one moves without the other" bash -c \
	'rdma dev set roce0p0v0d1 netns a && rdma dev | grep -q " roce0p0v0:" && ip netns exec a rdma dev | grep -q " roce0p0v0d1:"'

user=$(dirname "$RDMANET_HARNESS_MODULE")/simrnic_user.ko
qp_owners() { rdma resource show qp link "$1" | grep -o 'comm .*' | grep -v ib_core | xargs; } # not management
ok "kernel users: another module's queue pairs" insmod "$user" device=roce0p0v0 queue_pairs=2
ok "kernel users: the driver's own queue pairs are listed too" equal "$(qp_owners roce0p0v0)" "comm [simrnic] comm [simrnic_user] comm [simrnic_user]"
ok "kernel users: a move removes the other module's queue pairs" bash -c \
	'rdma dev set roce0p0v0 netns a && ! ip netns exec a rdma resource show qp | grep "\[simrnic_user\]"'
ip netns del a
ok "kernel users: they do not return with the device" soon equal "$(soon rdma dev show roce0p0v0 && qp_owners roce0p0v0)" "comm [simrnic]"
ok "kernel users: an absent device is refused" fails_with 'no such device' bash -c "rmmod simrnic_user && insmod $user device=none"
soon rdma system set netns shared
