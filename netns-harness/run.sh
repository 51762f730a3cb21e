#!/bin/bash
# Runs a command on a real kernel with RDMA, SR-IOV, macvlan and ipvlan, whatever this machine's has.
#
#   netns-harness/run.sh COMMAND [ARGUMENT...]
#   netns-harness/run.sh --shell          an interactive shell in there
#   netns-harness/run.sh --build          only build and cache what a run needs
#
# Boots Debian's installed kernel in QEMU, this machine's files under a throw-away overlay, and runs COMMAND
# as root in the current directory with the same arguments. Its stdout, stderr and exit status come back.
# Everything it changes is gone afterwards, except in RDMANET_HARNESS_OUT. See README.md for the rest.
#
# Environment:
#   RDMANET_HARNESS_NIC          parameters of the software NIC; default "nics=2 ports=1 vfs=8", see
#                                simrnic/README.md
#   RDMANET_HARNESS_NEEDS        what COMMAND needs of the kernel: netns macvlan ipvlan vlan veth dummy vrf bridge
#                                rxe ptrace nic; default nic. Where this machine's kernel has it all, nothing is booted
#   RDMANET_HARNESS_OUT          directory of this machine that the guest sees as /out, writable
#   RDMANET_HARNESS_TIMEOUT      seconds until the guest is killed; default 1800
#   RDMANET_HARNESS_MEM          memory in MiB; default 1536
#   RDMANET_HARNESS_CPUS         processors; default 2
#   RDMANET_HARNESS_KERNEL       kernel release; default the newest in /boot that has its headers installed
#   RDMANET_HARNESS_KERNEL_ROOT  root directory of another Debian, whose kernel is booted (root only); see README.md
#   RDMANET_HARNESS_CACHE        what is built once; default build/harness in the repository
#   RDMANET_HARNESS_VERBOSE=1    say what is done and how long power-on to COMMAND took
#   RDMANET_HARNESS_ALLOW_SPLAT=1  a kernel warning does not make the run fail
# Variables whose names start with RDMANET_ or CATCH_, and TERM and CI, exist in the guest too.
#
# Exit status: COMMAND's, or
#   121  the guest died: kernel panic, or QEMU ended
#   122  COMMAND ended, but the guest's kernel logged a warning or worse; the log is printed
#   124  timeout
#   125  the harness could not do its part; nothing was run
set -euo pipefail
shopt -s nullglob

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${RDMANET_HARNESS_CACHE:-$(dirname "$here")/build/harness}
verbose=${RDMANET_HARNESS_VERBOSE:-0}
kernel_root=${RDMANET_HARNESS_KERNEL_ROOT:+$(realpath "$RDMANET_HARNESS_KERNEL_ROOT")}
work=

readonly died=121 splat=122 timed_out=124 unable=125
# What a kernel says when something is wrong with it, not with its user.
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
		type -P "$tool" >/dev/null || fail "$tool is missing; $here/setup.sh installs what is needed"
	done
	kernel=${RDMANET_HARNESS_KERNEL:-$(newest_kernel)}
	[[ -n $kernel ]] || fail "no kernel with headers in $kernel_root/boot; $here/setup.sh installs one in /boot"
	vmlinuz=$kernel_root/boot/vmlinuz-$kernel
	[[ -r $vmlinuz ]] || fail "cannot read $vmlinuz"
}

# $1 is older than what it is made from, or is not there.
stale() {
	local target=$1 source
	shift
	[[ -e $target ]] || return 0
	for source; do
		[[ ! $source -nt $target ]] || return 0
	done
	return 1
}

# The uncompressed kernel starts 1.5 s sooner under software emulation than the bzImage, which has to
# unpack itself first. Offsets: Documentation/x86/boot.rst.
build_vmlinux() {
	local setup offset length unpacker
	stale "$built/vmlinux" "$vmlinuz" || return 0
	setup=$(od -An -tu1 -j $((0x1f1)) -N1 "$vmlinuz")
	offset=$(od -An -tu4 -j $((0x248)) -N4 "$vmlinuz")
	length=$(od -An -tu4 -j $((0x24c)) -N4 "$vmlinuz")
	# The payload ends with four bytes of length that are not part of the packed stream.
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

# In the kernel's own Debian, if it isn't this one: its headers come with programs for that libc, and name its compiler.
make_module() { # directory
	# Nobody here asks for type information (BTF), and the whole kernel's would be read to make it.
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

# Files of the named modules and of those they need, in the order to load them.
module_files() {
	local module
	for module; do
		modprobe -d "${kernel_root:-/}" -S "$kernel" --show-depends "$module" || fail "kernel $kernel has no module $module"
	done | awk '$1 == "insmod" && !seen[$2]++ {print $2}'
}

# Only what the guest needs before it sees this machine's /lib/modules, and the RDMA core, which nothing
# loads by itself where there is no udev. macvlan, ipvlan, rxe and the rest come when the kernel asks.
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
	mkdir -p "$built" 2>/dev/null || fail "cannot create $built; set RDMANET_HARNESS_CACHE"
	exec 9>"$built/lock"
	flock 9
	build_vmlinux
	build_modules
	build_program init
	build_program tsc_khz
	build_initrd
	exec 9>&-
}

# Without LANG: a locale is sixteen files more that each bash opens through 9p, half of the time that it takes.
pass_environment() {
	local name
	printf '%s\0' "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" "HOME=/root" "USER=root" \
		"RDMANET_HARNESS_GUEST=1" "RDMANET_HARNESS_MODULE=$built/simrnic.ko"
	while read -r name; do
		printf '%s=%s\0' "$name" "${!name}"
	done < <(compgen -e | grep -E '^(RDMANET_.*|CATCH_.*|TERM|CI)$')
}

# Newer machines have /dev/kvm nodes that open and then hang the guest: only the processor's word counts.
has_kvm() { grep -qE '^flags.* (vmx|svm)( |$)' /proc/cpuinfo && [[ -w /dev/kvm ]]; }

accelerator() {
	if has_kvm; then
		printf '%s\n' -accel kvm -cpu host
	else
		# Emulated, each crossing of SMAP's border costs; nothing here tests it.
		printf '%s\n' -accel tcg,thread=multi -cpu max,la57=off,smap=off,smep=off
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

# Emulated, the kernel is told the rate of its clock. It would measure it in its first milliseconds, and a busy machine lets
# it find a rate that is several times wrong.
clock_rate() { has_kvm || printf 'tsc_early_khz=%s ' "$("$built/tsc_khz")"; }

qemu_arguments() {
	local image=$built/vmlinux
	[[ -e $image ]] || image=$vmlinuz
	printf '%s\n' -nodefaults -no-user-config -no-reboot -display none -machine pc,usb=off,vmport=off,graphics=off,hpet=off
	accelerator
	printf '%s\n' -smp "${RDMANET_HARNESS_CPUS:-2}" -m "${RDMANET_HARNESS_MEM:-1536}"
	printf '%s\n' -chardev "file,id=console,path=${work//,/,,}/console" -serial chardev:console
	[[ ! -e $work/control/shell ]] ||
		printf '%s\n' -chardev stdio,id=terminal,signal=off -serial chardev:terminal
	# A virtio interface for whoever loads virtio_net; the other end of its cable is nowhere.
	printf '%s\n' -netdev hubport,id=nowhere,hubid=0 -device virtio-net-pci,netdev=nowhere,romfile=
	share / hostroot ,readonly=on
	share "$work/control" control
	[[ -z $kernel_root ]] || share "$(realpath "$kernel_root/lib/modules")" modules ,readonly=on
	[[ -z ${RDMANET_HARNESS_OUT:-} ]] || share "$RDMANET_HARNESS_OUT" out
	# norandmaps: what was translated for a program serves its next process only at the same addresses, which makes
	# starting one three times as fast. The others cost on each page, page walk, file or system call.
	printf '%s\n' -kernel "$image" -initrd "$built/initrd" -append \
		"console=ttyS0 quiet loglevel=5 panic=-1 oops=panic mitigations=off tsc=reliable $(clock_rate)no_timer_check \
random.trust_cpu=on rcupdate.rcu_cpu_stall_timeout=180 nowatchdog cryptomgr.notests \
norandmaps init_on_alloc=0 lsm=capability audit=0 cgroup_disable=memory -- ${RDMANET_HARNESS_NIC-nics=2 ports=1 vfs=8}"
}

# QEMU may be gone before the last of the file was read: tail takes one more look after that.
follow() { tail -q -s 0.02 -c +1 --pid="$qemu" -f "$1"; }

# Everything the guest's init needs to know: see guest/init.c.
write_control() {
	mkdir "$control"
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
		show_console "timeout: ${RDMANET_HARNESS_TIMEOUT:-1800} s have passed; the end of the guest's console:" 40
		exit "$timed_out"
	fi
	if [[ ! -s $control/status ]]; then
		cat "$work/qemu.log" >&2
		[[ -s $work/console ]] || fail "QEMU ended with status $qemu_status before the kernel said anything"
		show_console "the guest died; the end of its console:" 60
		exit "$died"
	fi
	result=$(<"$control/status")
	if grep -qE "$splat_pattern" "$work/console"; then
		show_console "the guest's kernel complained (the command's status was $result):" 200
		[[ ${RDMANET_HARNESS_ALLOW_SPLAT:-0} == 1 ]] || exit "$splat"
	fi
	exit "$result"
}

# Tried in a network namespace of its own, so that nothing of this machine's changes.
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
	*) return 1 ;; # nic: that module is never loaded into a kernel that somebody uses
	esac >/dev/null 2>&1
}

why_guest() {
	local need
	[[ $shell == 0 ]] || { echo "a shell was asked for" && return; }
	for need in ${RDMANET_HARNESS_NEEDS:-nic}; do
		[[ $need != nic ]] || { echo "the software NIC is needed" && return; }
	done
	[[ $EUID == 0 ]] || { echo "not root" && return; }
	[[ -z ${RDMANET_HARNESS_OUT:-} ]] || { echo "there is a directory to share as /out" && return; }
	for need in $RDMANET_HARNESS_NEEDS; do
		kernel_has "$need" || { echo "this kernel has no $need" && return; }
	done
}

# The same view as in the guest, as far as namespaces can give it. Nothing that COMMAND writes beside its own directories
# is another run's. A PID namespace, so that what COMMAND leaves
# behind ends with it here too; the shell stays to collect processes that lost their parent.
run_native() {
	export RDMANET_HARNESS_GUEST=native
	exec timeout --foreground -k 5 "${RDMANET_HARNESS_TIMEOUT:-1800}" \
		unshare --net --mount --uts --pid --fork --kill-child --mount-proc bash -O nullglob -c '
		cd_to=$PWD
		mount -t sysfs sysfs /sys && mount -t tmpfs run /run && mkdir -p /run/netns /run/lock /run/kept /var/lib/cni &&
			mount -t tmpfs cni /var/lib/cni && mount -t tmpfs log /var/log || exit 125
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

# A test that is already in the guest and calls this again means that guest.
[[ ${RDMANET_HARNESS_GUEST:-0} == 0 ]] || exec "$@"

reason=$(why_guest)
if [[ -z $reason ]]; then
	say "native: this machine's kernel has $RDMANET_HARNESS_NEEDS"
	run_native "$@"
elif [[ -n ${RDMANET_HARNESS_NEEDS:-} ]]; then
	say "guest: $reason"
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
