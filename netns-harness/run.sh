#!/bin/bash
# Runs a command on a real kernel with RDMA, SR-IOV, macvlan and ipvlan, whatever this machine's kernel has.
#
#   netns-harness/run.sh COMMAND [ARGUMENT...]
#   netns-harness/run.sh --shell          an interactive shell in the guest
#   netns-harness/run.sh --build          only builds and caches what a run needs
#
# It boots Debian's installed kernel in QEMU, with this machine's files under a temporary overlay. There it runs COMMAND
# as root in the current directory, with the same arguments, and returns its stdout, stderr and exit status. All changes
# are lost at the end, except in RDMANET_HARNESS_OUT. README.md says more.
#
# Environment:
#   RDMANET_HARNESS_NIC          parameters of the software NIC; default "nics=2 ports=1 vfs=8", see
#                                simrnic/README.md
#   RDMANET_HARNESS_NEEDS        what COMMAND needs of the kernel: netns macvlan ipvlan vlan veth dummy vrf bridge
#                                rxe ptrace nic; default nic. If this machine's kernel has all of it, nothing is booted
#   RDMANET_HARNESS_CABLE        "SOCKET PEER": paths of two Unix sockets, this guest's and another guest's. A cable
#                                connects their virtio interfaces
#   RDMANET_HARNESS_OUT          directory of this machine that the guest can write to as /out
#   RDMANET_HARNESS_TIMEOUT      seconds until the guest is killed; default 1800
#   RDMANET_HARNESS_MEM          memory in MiB; default 1536
#   RDMANET_HARNESS_CPUS         processors; default 2
#   RDMANET_HARNESS_KERNEL       kernel release; default the newest in /boot with installed headers
#   RDMANET_HARNESS_KERNEL_ROOT  root directory of another Debian whose kernel to boot (as root only); see README.md
#   RDMANET_HARNESS_CACHE        directory for what is built once; default build/harness in the repository
#   RDMANET_HARNESS_VERBOSE=1    report each action, and the time from power-on to COMMAND
#   RDMANET_HARNESS_ALLOW_SPLAT=1  a kernel warning does not make the run fail
# Variables whose names start with RDMANET_ or CATCH_, and TERM and CI, exist in the guest too.
#
# Exit status: COMMAND's, or
#   121  the guest died: kernel panic, or the end of QEMU
#   122  COMMAND ended, but the guest's kernel logged a warning or worse; the log is printed
#   124  timeout
#   125  the harness failed and ran nothing
set -euo pipefail
shopt -s nullglob

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${RDMANET_HARNESS_CACHE:-$(dirname "$here")/build/harness}
verbose=${RDMANET_HARNESS_VERBOSE:-0}
kernel_root=${RDMANET_HARNESS_KERNEL_ROOT:+$(realpath "$RDMANET_HARNESS_KERNEL_ROOT")}
work=

readonly died=121 splat=122 timed_out=124 unable=125
# The kernel logs these if it has an error itself, not if its user has one.
readonly splat_pattern='Oops|BUG: |WARNING: (CPU|possible|bad unlock|suspicious|.*, CPU#)|Kernel panic|general protection fault|refcount_t: |KASAN|UBSAN|INFO: task .* blocked .*for more than|(list_add|list_del) corruption|unregister_netdevice: waiting for|Objects remaining (in|on)|detected stalls|leaked'

say() { printf 'harness: %s\n' "$*" >&2; }
chat() { [[ $verbose == 0 ]] || say "$@"; }
fail() {
	say "$@"
	exit "$unable"
}

newest_kernel() {
	local release
	for release in $(find "$kernel_root/boot" -maxdepth 1 -name 'vmlinuz-*' -printf '%f\n' | sed 's/^vmlinuz-//' | sort -Vr); do
		if [[ -d $kernel_root/lib/modules/$release/kernel && -e $kernel_root/usr/src/linux-headers-$release/Makefile ]]; then
			printf '%s\n' "$release"
			return
		fi
	done
}

require() {
	local tool
	for tool in qemu-system-x86_64 cpio make gcc modprobe xz strip; do
		type -P "$tool" >/dev/null || fail "$tool is missing: run $here/setup.sh"
	done
	kernel=${RDMANET_HARNESS_KERNEL:-$(newest_kernel)}
	[[ -n $kernel ]] || fail "no kernel with headers in $kernel_root/boot: run $here/setup.sh, which installs one in /boot"
	vmlinuz=$kernel_root/boot/vmlinuz-$kernel
	[[ -r $vmlinuz ]] || fail "cannot read $vmlinuz"
}

# True if $1 does not exist or is older than its sources.
stale() {
	local target=$1 source
	shift
	[[ -e $target ]] || return 0
	for source; do
		[[ ! $source -nt $target ]] || return 0
	done
	return 1
}

# Under emulation the uncompressed kernel starts 1.5 s sooner than the bzImage, which unpacks itself first. Offsets:
# Documentation/x86/boot.rst.
build_vmlinux() {
	local setup offset length unpacker
	stale "$built/vmlinux" "$vmlinuz" || return 0
	setup=$(od -An -tu1 -j $((0x1f1)) -N1 "$vmlinuz")
	offset=$(od -An -tu4 -j $((0x248)) -N4 "$vmlinuz")
	length=$(od -An -tu4 -j $((0x24c)) -N4 "$vmlinuz")
	# The payload ends with four bytes of length, which are not part of the compressed stream.
	length=$((length - 4))
	for unpacker in xz zstd; do # Debian's 6.1, later ones
		if head -c $(((setup + 1) * 512 + offset + length)) "$vmlinuz" | tail -c "$length" |
			"$unpacker" -dc >"$built/vmlinux.new" 2>"$built/vmlinux.log"; then
			mv "$built/vmlinux.new" "$built/vmlinux"
			return 0
		fi
	done
	chat "$vmlinuz can be unpacked by neither xz nor zstd; using it as it is"
	rm -f "$built/vmlinux.new" "$built/vmlinux"
}

# Runs in the kernel's own Debian if that is not this one, because its headers have programs for that libc and name
# its compiler.
make_module() { # directory
	# Type information (BTF) is off: nobody needs it, and making it reads the whole kernel's.
	local arguments=(-s -j2 -C "/usr/src/linux-headers-$kernel" CONFIG_DEBUG_INFO_BTF_MODULES= modules)
	[[ -n $kernel_root ]] || { make M="$1" "${arguments[@]}"; return; }
	unshare --mount sh -euc 'root=$1 module=$2; shift 2
		mount --bind "$module" "$root/mnt"; mount -t proc proc "$root/proc"
		exec chroot "$root" make M=/mnt "$@"' sh "$kernel_root" "$1" "${arguments[@]}"
}

build_modules() {
	local sources=("$here"/simrnic/*.[ch] "$here/simrnic/Kbuild") module
	stale "$built/simrnic.ko" "${sources[@]}" "$kernel_root/usr/src/linux-headers-$kernel/Makefile" || return 0
	chat "building the software NIC for $kernel"
	rm -rf "$built/simrnic"
	mkdir "$built/simrnic"
	cp "${sources[@]}" "$built/simrnic/"
	make_module "$built/simrnic" >"$built/simrnic.log" 2>&1 || {
		cat "$built/simrnic.log" >&2
		fail "the software NIC does not compile for $kernel"
	}
	for module in simrnic_user simrnic; do
		strip --strip-debug -o "$built/$module.ko.new" "$built/simrnic/$module.ko"
		mv "$built/$module.ko.new" "$built/$module.ko"
	done
}

build_program() { # name
	stale "$built/$1" "$here/guest/$1.c" || return 0
	gcc -std=gnu11 -O2 -Wall -Wextra -static -pthread -s -o "$built/$1.new" "$here/guest/$1.c" ||
		fail "$here/guest/$1.c does not compile"
	mv "$built/$1.new" "$built/$1"
}

# Files of the named modules and of the modules that they need, in loading order.
module_files() {
	local module
	for module; do
		modprobe -d "${kernel_root:-/}" -S "$kernel" --show-depends "$module" || fail "kernel $kernel has no module $module"
	done | awk '$1 == "insmod" && !seen[$2]++ {print $2}'
}

# Only has what the guest needs before it sees this machine's /lib/modules, and the RDMA core, which nothing loads
# without udev. The kernel requests macvlan, ipvlan, rxe and the rest itself.
build_initrd() {
	stale "$built/initrd" "$built/init" "$built/simrnic.ko" "$here/run.sh" "$kernel_root/lib/modules/$kernel/modules.dep" || return 0
	local root=$built/root file
	rm -rf "$root"
	mkdir -p "$root"/{modules,root,ro,rw,proc,sys,dev}
	cp "$built/init" "$root/init"
	cp "$built/simrnic.ko" "$root/modules/"
	module_files virtio_pci 9pnet_virtio 9p overlay >"$built/files"
	module_files ib_uverbs rdma_ucm >"$built/rdma"
	while read -r file; do
		case $file in
		*.xz) xz -dc "$file" >"$root/modules/$(basename "$file" .xz)" ;; # from 6.12 on
		*) cp "$file" "$root/modules/" ;;
		esac
	done < <(sort -u "$built/files" "$built/rdma")
	sed 's,.*/,,; s,\.xz$,,' "$built/files" >"$root/modules/files"
	sed 's,.*/,,; s,\.xz$,,' "$built/rdma" >"$root/modules/rdma"
	(cd "$root" && find . | cpio --quiet -o -H newc) >"$built/initrd.new"
	mv "$built/initrd.new" "$built/initrd"
}

build() {
	built=$cache/$kernel
	mkdir -p "$built" 2>/dev/null || fail "cannot create $built: set RDMANET_HARNESS_CACHE"
	exec 9>"$built/lock"
	flock 9
	build_vmlinux
	build_modules
	build_program init
	build_program tsc_khz
	build_initrd
	exec 9>&-
}

# LANG stays out: with a locale each bash opens sixteen more files through 9p, which takes half of its time.
pass_environment() {
	local name
	printf '%s\0' "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" "HOME=/root" "USER=root" \
		"RDMANET_HARNESS_GUEST=1" "RDMANET_HARNESS_MODULE=$built/simrnic.ko"
	while read -r name; do
		printf '%s=%s\0' "$name" "${!name}"
	done < <(compgen -e | grep -E '^(RDMANET_.*|CATCH_.*|TERM|CI)$')
}

# On some machines /dev/kvm can be opened but then hangs the guest. Only the processor's flags are reliable.
has_kvm() { grep -qE '^flags.* (vmx|svm)( |$)' /proc/cpuinfo && [[ -w /dev/kvm ]]; }

accelerator() {
	if has_kvm; then
		printf '%s\n' -accel kvm -cpu host
	else
		# Under emulation SMAP is slow, and no test needs it. Without erms the kernel and libc copy and clear memory by eight
		# bytes or more. The emulator repeats "rep movsb" for each byte.
		printf '%s\n' -accel tcg,thread=multi -cpu max,la57=off,smap=off,smep=off,erms=off
	fi
}

clean_up() {
	local pid
	for pid in $(jobs -p); do
		kill "$pid" 2>/dev/null || true
	done
	wait 2>/dev/null || true
	[[ -z $work ]] || rm -rf "$work"
}

share() { # directory, tag, more
	printf '%s\n' -fsdev "local,id=$2,path=${1//,/,,},security_model=none,multidevs=remap${3:-}" \
		-device "virtio-9p-pci,fsdev=$2,mount_tag=$2"
}

# Under emulation the kernel gets the rate of its clock. Otherwise it would measure the rate in its first
# milliseconds, and on a busy machine the result may be several times wrong.
clock_rate() { has_kvm || printf 'tsc_early_khz=%s ' "$("$built/tsc_khz")"; }

# Without another guest, it is connected to nothing.
cable() {
	local ends
	read -ra ends <<<"${RDMANET_HARNESS_CABLE:-}"
	if [[ ${#ends[@]} == 2 ]]; then
		echo "dgram,id=cable,local.type=unix,local.path=${ends[0]//,/,,},remote.type=unix,remote.path=${ends[1]//,/,,}"
	else
		echo hubport,id=cable,hubid=0
	fi
}

qemu_arguments() {
	local image=$built/vmlinux
	[[ -e $image ]] || image=$vmlinuz
	printf '%s\n' -nodefaults -no-user-config -no-reboot -display none -machine pc,usb=off,vmport=off,graphics=off,hpet=off
	accelerator
	printf '%s\n' -smp "${RDMANET_HARNESS_CPUS:-2}" -m "${RDMANET_HARNESS_MEM:-1536}"
	printf '%s\n' -chardev "file,id=console,path=${work//,/,,}/console" -serial chardev:console
	[[ ! -e $work/control/shell ]] ||
		printf '%s\n' -chardev stdio,id=terminal,signal=off -serial chardev:terminal
	# A virtio interface for tests that load virtio_net.
	printf '%s\n' -netdev "$(cable)" -device virtio-net-pci,netdev=cable,romfile=
	share / hostroot ,readonly=on
	share "$work/control" control
	[[ -z $kernel_root ]] || share "$(realpath "$kernel_root/lib/modules")" modules ,readonly=on
	[[ -z ${RDMANET_HARNESS_OUT:-} ]] || share "$RDMANET_HARNESS_OUT" out
	# norandmaps keeps programs at the same addresses, so that the emulator can use its translation again. A process then
	# starts three times as fast. The other options save time on each page, page walk, file or system call.
	printf '%s\n' -kernel "$image" -initrd "$built/initrd" -append \
		"console=ttyS0 quiet loglevel=5 panic=-1 oops=panic mitigations=off tsc=reliable $(clock_rate)no_timer_check \
random.trust_cpu=on rcupdate.rcu_cpu_stall_timeout=180 nowatchdog cryptomgr.notests \
norandmaps init_on_alloc=0 lsm=capability audit=0 cgroup_disable=memory -- ${RDMANET_HARNESS_NIC-nics=2 ports=1 vfs=8}"
}

# QEMU may end before tail has read the last of the file. tail reads once more after that.
follow() { tail -q -s 0.02 -c +1 --pid="$qemu" -f "$1"; }

# COMMAND, what tests run most, their libraries, and what every program opens. Under emulation it takes 1.6 ms to open a
# file through 9p, but 0.05 ms in memory, and a program opens up to fifteen.
hot_files() {
	local programs
	mapfile -t programs < <(type -P "$@" ${RDMANET_BINARY:+"$RDMANET_BINARY"} bash sh cat cut echo env grep head ip jq ls mkdir modprobe \
		mv printf rdma readlink rm sed seq sleep sysctl tr true unshare)
	printf '%s\n' /etc/ld.so.cache "${programs[@]}"
	ldd "${programs[@]}" 2>/dev/null | grep -o '/[^ ]*\.so[^ ]*' || true # a script has no libraries
}

# Everything that the guest's init needs to know (guest/init.c).
write_control() {
	mkdir "$control"
	hot_files "$@" | sort -u | tr '\n' '\0' >"$control/hot"
	printf '%s\0' "$@" >"$control/argv"
	pass_environment >"$control/env"
	printf '%s' "$PWD" >"$control/cwd"
	touch "$control/stdout" "$control/stderr"
	[[ $shell == 0 ]] || touch "$control/shell"
	[[ -z $kernel_root ]] || touch "$control/modules"
	[[ ! /proc/self/fd/1 -ef /proc/self/fd/2 ]] || touch "$control/merge"
	[[ -z ${RDMANET_HARNESS_OUT:-} ]] && return
	mkdir -p "$RDMANET_HARNESS_OUT" || fail "cannot create $RDMANET_HARNESS_OUT"
	touch "$control/out"
}

run() {
	local args status=0 input=/dev/null terminal=
	[[ $shell == 0 ]] || input=/dev/stdin
	mapfile -t args < <(qemu_arguments)
	chat "booting $kernel with ${args[*]}"
	if [[ $shell == 1 && -t 0 ]]; then
		terminal=$(stty -g)
		stty raw -echo
	fi
	touch "$work/power-on"
	setpriv --pdeathsig TERM timeout --foreground -k 5 "${RDMANET_HARNESS_TIMEOUT:-1800}" \
		qemu-system-x86_64 "${args[@]}" <"$input" 2>"$work/qemu.log" &
	qemu=$!
	if [[ $shell == 0 ]]; then
		follow "$control/stdout" &
		follow "$control/stderr" >&2 &
	fi
	wait "$qemu" || status=$?
	wait
	[[ -z $terminal ]] || stty "$terminal"
	conclude "$status"
}

show_console() {
	say "$1"
	tail -n "$2" "$work/console" | tr -d '\r' | sed 's/^/  /' >&2
}

conclude() {
	local qemu_status=$1 result
	if [[ -e $control/started ]]; then
		chat "power-on to command: $(echo "$(stat -c '%.3Y' "$work/power-on" "$control/started")" |
			awk 'NR == 1 {from = $1} END {printf "%.2f s", $1 - from}')"
	fi
	if [[ $qemu_status == 124 || $qemu_status == 137 ]]; then
		show_console "timeout after ${RDMANET_HARNESS_TIMEOUT:-1800} s (RDMANET_HARNESS_TIMEOUT); the end of the guest's console:" 40
		exit "$timed_out"
	fi
	if [[ ! -s $control/status ]]; then
		cat "$work/qemu.log" >&2
		[[ -s $work/console ]] || fail "QEMU ended with status $qemu_status before the kernel printed anything"
		show_console "the guest died; the end of its console:" 60
		exit "$died"
	fi
	result=$(<"$control/status")
	if grep -qE "$splat_pattern" "$work/console"; then
		show_console "the guest's kernel logged a warning or worse (the command's status was $result):" 200
		[[ ${RDMANET_HARNESS_ALLOW_SPLAT:-0} == 1 ]] || exit "$splat"
	fi
	exit "$result"
}

# Tries it in a new network namespace, so that nothing of this machine changes.
kernel_has() {
	case $1 in
	netns) unshare --net true ;;
	macvlan | ipvlan) unshare --net sh -c "ip link add p type veth && ip link add c link p type $1" ;;
	vlan) unshare --net sh -c 'ip link add p type veth && ip link add c link p type vlan id 2' ;;
	ptrace) strace -o /dev/null true ;;
	vrf) unshare --net ip link add c type vrf table 2 ;;
	veth | dummy | bridge) unshare --net ip link add c type "$1" ;;
	rxe)
		unshare --net sh -c 'ip link add p type veth && rdma link add rxeprobe type rxe netdev p &&
			rdma link del rxeprobe'
		;;
	*) return 1 ;; # nic: never load this module into a machine's own kernel
	esac >/dev/null 2>&1
}

why_guest() {
	local need
	[[ $shell == 0 ]] || { echo "--shell needs it" && return; }
	for need in ${RDMANET_HARNESS_NEEDS:-nic}; do
		[[ $need != nic ]] || { echo "the software NIC needs it" && return; }
	done
	[[ $EUID == 0 ]] || { echo "you are not root" && return; }
	[[ -z ${RDMANET_HARNESS_OUT:-} ]] || { echo "RDMANET_HARNESS_OUT needs it" && return; }
	for need in $RDMANET_HARNESS_NEEDS; do
		kernel_has "$need" || { echo "this kernel has no $need" && return; }
	done
}

# Gives COMMAND the same view as in the guest, as far as namespaces can. Runs do not share files that COMMAND writes,
# except below its own directories. What COMMAND leaves running ends with the PID namespace. The shell stays to reap
# processes that lost their parent.
run_native() {
	export RDMANET_HARNESS_GUEST=native
	exec timeout --foreground -k 5 "${RDMANET_HARNESS_TIMEOUT:-1800}" \
		unshare --net --mount --uts --pid --fork --kill-child --mount-proc bash -O nullglob -c '
		cd_to=$PWD
		mount -t sysfs sysfs /sys && mount -t tmpfs run /run && mkdir -p /run/netns /run/lock /run/kept /var/lib/cni &&
			mount -t tmpfs cni /var/lib/cni && mount -t tmpfs log /var/log &&
			mkdir -p /etc/cni && mount -t tmpfs cni /etc/cni || exit 125
		for path in "$cd_to" "${RDMANET_BINARY:-}" "$0"; do # a checkout may lie in /tmp
			name=$(cut -d/ -f3 <<<"$path")
			[[ $path == /tmp/?* && -d /tmp/$name && ! -d /run/kept/$name ]] || continue
			mkdir "/run/kept/$name" && mount --bind "/tmp/$name" "/run/kept/$name" || exit 125
		done
		mount -t tmpfs tmp /tmp || exit 125
		for kept in /run/kept/*; do
			mkdir "/tmp/${kept##*/}" && mount --bind "$kept" "/tmp/${kept##*/}" || exit 125
		done
		mount --make-rshared / && hostname rdmanet-native && ip link set lo up || exit 125
		cd "$cd_to" && "$@"
		exit' "$here" "$@" </dev/null
}

usage() { sed -n '2,/^set -/{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; }

shell=0
case ${1:---help} in
--help | -h)
	usage
	[[ $# -gt 0 ]] || exit "$unable"
	exit 0
	;;
--build)
	require
	build
	exit 0
	;;
--shell)
	shell=1
	set -- /bin/bash -i
	;;
esac

# A test inside the guest that calls this script runs in the same guest.
[[ ${RDMANET_HARNESS_GUEST:-0} == 0 ]] || exec "$@"

reason=$(why_guest)
if [[ -z $reason ]]; then
	say "native: this machine's kernel has $RDMANET_HARNESS_NEEDS"
	run_native "$@"
elif [[ -n ${RDMANET_HARNESS_NEEDS:-} ]]; then
	say "guest, because $reason"
fi

require
build
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
work=$(mktemp -d)
control=$work/control
write_control "$@"
run
