#!/bin/bash
# Runs the tests: style, static analysis, unit tests and fuzz targets (with sanitizers), the built binary on a real
# kernel (as it is installed, and with sanitizers), and faults. Run it as root. On a fresh Debian 12 it installs the
# Debian packages that it needs and builds everything. The last line is: N passed, N failed, N skipped.
#
#   test/run.sh            the everyday run, in three lanes at the same time; each line begins with its lane. Long parts
#                          take samples, which change with the commit (test/seed)
#   test/run.sh --all      everything, which takes a night: no samples, and the stages that only --all has
#   test/run.sh STAGE...   only these stages, one after the other:
#                          - style unit tidy fuzz harness demo nodes e2e cluster etcd e2e_sanitize patience fault bench
#                            build
#                          - of --all: e2e_guest traffic vfs64 bench_guest newest_kernel
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$top"
logs=$top/build/test-logs
results=$logs/results # a line for each part: passed, failed, skipped, name

# Packages for the tests in addition to the build's and the harness's: linters, the compiler with libFuzzer, plugins
# to delegate to, a DHCP server (busybox), a gRPC server (the kubelet's).
packages=(git clang clang-format clang-tidy libclang-rt-14-dev lld shellcheck containernetworking-plugins
	busybox-static dnsmasq-base etcd-server openssl curl python3-grpcio)

# A guest waits half of its time, so three guests and a build keep two processors busy. "patience" only waits.
lanes=("harness e2e cluster etcd" "style unit fuzz e2e_sanitize fault" "patience tidy demo nodes bench build")
only_in_all=(e2e_guest traffic vfs64 bench_guest newest_kernel)

# What the everyday run takes of each. --all takes everything.
harness_parts=(infiniband driver traffic) # one of them, because other stages' cases use the rest
guest_again=40                    # one of this many end-to-end cases that passed natively also runs in the guest
sanitized_turns=6                 # one of this many sanitized cases that need the guest
fuzz_seconds=10
build_check_of=""                 # some of the source files

# A run on a machine with ten times too much to do must not fail for it.
export RDMANET_HARNESS_TIMEOUT=${RDMANET_HARNESS_TIMEOUT:-10800}

say() { printf '== %s\n' "$*"; }
result() { echo "$*" >>"$results"; }

# Runs a command that ends with a line "N passed, N failed, N skipped". Shows its output and records the counts.
counted() {
	local name=$1 log status=0 counts words
	shift
	log=$logs/$name.log
	"$@" 2>&1 | tee "$log" || status=$?
	counts=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$log" | tail -1) || true
	read -r -a words <<<"${counts//,/}"
	if [[ -z $counts ]]; then
		result 0 1 0 "$name: no counts, exit status $status"
	elif [[ $status != 0 && ${words[2]} == 0 ]]; then
		result "${words[0]}" 1 "${words[4]}" "$name: exit status $status" # a warning of the guest's kernel, or a crash at the end
	else
		result "${words[0]}" "${words[2]}" "${words[4]}" "$name"
	fi
}

# Runs a command that passes or fails as a whole.
check() {
	local name=$1
	shift
	if "$@" >"$logs/$name.log" 2>&1; then
		result 1 0 0 "$name"
		echo "ok   $name"
	else
		result 0 1 0 "$name"
		cat "$logs/$name.log"
		echo "FAIL $name"
	fi
}

# build PRESET TARGET...
build() {
	local log=$logs/build-$1.log
	say "build: $1 (${*:2})"
	cmake --preset "$1" >"$log" 2>&1 && cmake --build --preset "$1" --target "${@:2}" >>"$log" 2>&1 && return
	grep -E 'error:|Error|undefined reference' -A5 "$log" | head -60
	say "the build failed, see $log"
	result 0 1 0 "build-$1"
	return 1
}

sources() { git ls-files '*.cpp' '*.hpp' 'netns-harness/simrnic/*.[ch]'; }

# clang-format does not wrap comments.
no_wide_comments() { ! sources | xargs grep -nE '^ *//.{119}'; }

stage_style() {
	say "style: clang-format, width of comments, shellcheck"
	check comment-width no_wide_comments
	# shellcheck disable=SC2046 # one argument for each file
	check clang-format clang-format --dry-run --Werror $(sources)
	# shellcheck disable=SC2046
	check shellcheck shellcheck -x -S warning $(git ls-files '*.sh' .ci/run)
}

stage_unit() {
	build sanitize rdmanet unit_tests fuzz_targets || return 0
	say "unit tests, with address and undefined behaviour sanitizers"
	local program with
	for program in build/sanitize/test/unit/*/*_test; do
		with=
		[[ $program != */cluster_test ]] || with="test/cluster/etcd.sh try"
		# Some cases kill a process at each of its system calls and fork thousands of times. With a smaller quarantine they
		# take half the time.
		# shellcheck disable=SC2086 # words
		ASAN_OPTIONS=quarantine_size_mb=4 counted "unit-$(basename "$program")" $with "$program" -r progress
	done
}

# Only needs the configured build, because another lane may be building it.
stage_tidy() {
	[[ -f build/sanitize/compile_commands.json ]] || cmake --preset sanitize >/dev/null || return 1
	say "static analysis: clang-tidy"
	check clang-tidy run-clang-tidy -quiet -j 1 -p build/sanitize "^$top/build/sanitize/(src|cmd)/"
}

stage_fuzz() {
	say "fuzz targets, $fuzz_seconds seconds each; test/fuzz/run.sh SECONDS for longer"
	RDMANET_FUZZ_PRESET=sanitize counted fuzz test/fuzz/run.sh $fuzz_seconds
}

guest() { netns-harness/run.sh "$@"; }

# Uses this machine's kernel if it suffices, otherwise the guest's.
any_kernel() { RDMANET_HARNESS_NEEDS="netns veth macvlan ${needs:-}" netns-harness/run.sh "$@"; }

# in_guests NAME LIST COMMAND...: runs the cases of LIST in guests. `guests` of them run at the same time. The default
# is three for two processors, because half of the time they wait for the kernel to make and end namespaces and
# devices. LIST has more parts than there are guests, so that no guest waits for one with long cases.
in_guests() {
	local name=$1 list=$2 at_a_time=${guests:-$(($(nproc) * 3 / 2))} part
	shift 2
	rm -f "$list"-[a-z]*
	split --suffix-length=1 --number="r/$((at_a_time == 1 ? 1 : at_a_time * 2))" "$list" "$list-"
	for part in "$list"-[a-z]; do
		while (($(jobs -rp | wc -l) >= at_a_time)); do wait -n; done
		[[ ! -s $part ]] || RDMANET_HARNESS_CPUS=1 counted "$name-guest-${part##*-}" guest "$@" -f "$part" &
	done
	wait
}

# on_kernels NAME CASES COMMAND...: runs the cases with those tags, or all, on this machine's kernel. The cases that
# it cannot run go to the guest, where everything takes several times as long. With `turns` only one of that many goes
# there, and the others count as skipped. With `again` one of that many cases that ran here also goes there, because
# kernels differ.
on_kernels() {
	local name=$1 cases=$2 log=$logs/$1.log rest=$logs/$1-rest
	shift 2
	counted "$name" any_kernel "$@" ${cases:+"$cases"}
	grep -q '^harness: native' "$log" || return 0
	sed -nE 's/^skip (.*): this machine lacks .*/\1/p' "$log" | sort >"$rest"
	[[ -z ${turns:-} ]] || sed -ni "$((RDMANET_SEED % turns + 1))~${turns}p" "$rest"
	result 0 0 "-$(wc -l <"$rest")" "$name: left to the guest"
	[[ -z ${again:-} ]] ||
		sed -nE 's/^(ok  |FAIL) (.*) \([0-9]+ ms\)$/\2/p' "$log" | sort | sed -n "$((RDMANET_SEED % again + 1))~${again}p" >>"$rest"
	sed -i 's/,/\\,/g' "$rest" # a comma would end a name
	in_guests "$name" "$rest" "$@"
}

stage_harness() {
	local part=${harness_parts[RDMANET_SEED % ${#harness_parts[@]}]}
	say "harness: self-test of the software NIC, part ${part:-all}"
	counted harness guest netns-harness/selftest.sh $part
}

stage_demo() {
	say "the demo of the README"
	check demo guest netns-harness/demo.sh inside
}

stage_nodes() {
	say "RDMA between two nodes"
	counted nodes test/nodes/run.sh
}

e2e_test=build/release/test/e2e/e2e_test

stage_e2e() {
	say "end-to-end cases, the built binary on a real kernel"
	again=$guest_again RDMANET_BINARY=$top/build/release/cmd/rdmanet/rdmanet on_kernels e2e "~[.]~[cluster]~[etcd]" $e2e_test -r progress
}

# Runs everything in the guest, whatever this machine's kernel can do. Only runs if it is named.
stage_e2e_guest() {
	RDMANET_BINARY=$top/build/release/cmd/rdmanet/rdmanet counted e2e-guest guest $e2e_test -r progress
}

# Leaves out cases about documents, large inputs, static binaries and a missing /proc. Of the kinds of attachments that
# need the slow guest it runs only one or two cases each. Leak detection is off, because it takes a third of each
# process's time. The unit tests do it.
stage_e2e_sanitize() {
	build sanitize rdmanet || return 0
	say "end-to-end cases, the binary built with sanitizers"
	guests=1 turns=$sanitized_turns RDMANET_BINARY=$top/build/sanitize/cmd/rdmanet/rdmanet \
		on_kernels e2e-sanitize \
		'[core],~[.]~[cluster]~[etcd]~[memory-limit]~[static]~[no-proc]~[large]~[examples]~[readme]~[rdma]~[ipvlan]~[ipoib]~[infiniband]~[device]~[sriov]' \
		env ASAN_OPTIONS=detect_leaks=0 $e2e_test -r progress
}

# Cases in which something hangs until a deadline of almost a minute.
stage_patience() {
	RDMANET_BINARY=$top/build/release/cmd/rdmanet/rdmanet counted patience any_kernel $e2e_test -r progress '[.hang]'
}

# The first time, it builds the server, which takes minutes.
stage_cluster() {
	build release cluster_test || return 0
	say "leases in a Kubernetes API server"
	counted cluster-unit test/cluster/cluster.sh try build/release/test/unit/cluster/cluster_test -r progress '~[.]~[etcd]'
	RDMANET_BINARY=$top/build/release/cmd/rdmanet/rdmanet counted cluster-e2e \
		any_kernel test/cluster/cluster.sh try $e2e_test -r progress '[cluster]'
	needs=ptrace counted cluster-fault any_kernel test/cluster/cluster.sh try test/fault/run.sh '[cluster]'
}

stage_etcd() {
	build release cluster_test || return 0
	say "leases in etcd: one member, three, and one with users and certificates"
	counted etcd-unit test/cluster/etcd.sh try build/release/test/unit/cluster/cluster_test -r progress '[etcd],[store]'
	RDMANET_BINARY=$top/build/release/cmd/rdmanet/rdmanet counted etcd-e2e \
		any_kernel test/cluster/etcd.sh try $e2e_test -r progress '[etcd]'
	needs=ptrace counted etcd-fault any_kernel test/cluster/etcd.sh try test/fault/run.sh '[etcd]'
}

stage_fault() {
	say "fault tests at system calls: ${RDMANET_FAULT_SAMPLE:-a sample; test/fault/run.sh --all takes every call}"
	guests=2 needs=ptrace RDMANET_HARNESS_NIC='nics=1 ports=1 vfs=2 gid_table_len=16' on_kernels fault "" test/fault/run.sh
}

# A few rounds show that all benchmarks run. test/bench/run.sh on an idle machine gives the numbers.
stage_bench() {
	build release benchmarks || return 0
	say "benchmarks, three rounds"
	check bench test/bench/run.sh 3
}

stage_build() {
	say "the build itself"
	counted build test/build_check.sh $build_check_of
}

stage_bench_guest() {
	build release benchmarks || return 0
	say "benchmarks in the guest, thirty rounds"
	check bench_guest test/bench/run.sh --guest 30
	cat "$logs/bench_guest.log"
	check bench_node test/bench/node.sh
	cat "$logs/bench_node.log"
	check bench_verify test/bench/verify.sh
	cat "$logs/bench_verify.log"
}

# All programs for each kind of attachment. The everyday run takes one program each.
stage_traffic() {
	say "users' RDMA programs between pods, all of them"
	RDMANET_BINARY=$top/build/release/cmd/rdmanet/rdmanet counted traffic guest $e2e_test -r progress '[.matrix]'
}

stage_vfs64() {
	say "64 VFs move into pods at the same time"
	RDMANET_HARNESS_MEM=3072 RDMANET_PARALLEL_VFS=64 counted vfs64 guest $e2e_test -r progress '[parallel]'
}

# Debian sid's kernel. It takes 0.7 GB below build/ and needs a mirror.
stage_newest_kernel() {
	local root=$top/build/sid
	say "software NIC and end-to-end cases on Debian sid's kernel"
	netns-harness/setup.sh mmdebstrap
	if [[ ! -e $root/usr/bin/make ]]; then
		rm -rf "$root"
		# The mirror may be some weeks old.
		mmdebstrap --quiet --variant=apt --include=linux-image-amd64,linux-headers-amd64,make \
			--aptopt='Acquire::Check-Valid-Until "false"' sid "$root" ||
			{ result 0 0 1 "newest_kernel: cannot download Debian sid" && return; }
	fi
	# With two processors this kernel dies of an int3 that it put in place of a jump label. The emulator executes it on
	# the other processor after the kernel removed it.
	export RDMANET_HARNESS_KERNEL_ROOT=$root RDMANET_HARNESS_CPUS=1
	counted newest_kernel-harness guest netns-harness/selftest.sh
	RDMANET_BINARY=$top/build/release/cmd/rdmanet/rdmanet counted newest_kernel-e2e guest $e2e_test -r progress
	unset RDMANET_HARNESS_KERNEL_ROOT RDMANET_HARNESS_CPUS
}

# Earlier stages build what later ones use. A lane continues after a failed stage.
run_stages() {
	local stage
	for stage in "$@"; do
		"stage_$stage" || result 0 1 0 "$stage: exit status $?"
	done
}

run_lanes() {
	local lane lanes_running=()
	for lane in "${lanes[@]}"; do
		# shellcheck disable=SC2086 # words
		run_stages $lane 2>&1 | sed -u "s/^/${lane%% *}  /" &
		lanes_running+=($!)
	done
	wait "${lanes_running[@]}"
}

# Prints the lines before each FAIL in a log, or the last lines if the run died.
failures_in() {
	awk '/^(ok|skip|==) / { lines = 0; next }
		{ said[lines++ % 40] = $0 }
		/^(FAIL|not ok) / { show(); seen = 1 }
		END { if (!seen) show() }
		function show(i) {
			for (i = lines > 40 ? lines - 40 : 0; i < lines; i++) print "    " said[i % 40]
			lines = 0
		}' "$1"
}

# Repeats the failures at the end of the output, and then prints the counts.
summary() {
	local failed name
	echo
	while read -r _ failed _ name; do
		[[ $failed -gt 0 ]] || continue
		echo "failed: $failed in $name"
		[[ ! -f $logs/${name%%:*}.log ]] || failures_in "$logs/${name%%:*}.log"
	done <"$results"
	awk '{ passed += $1; failed += $2; skipped += $3 }
		END { printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped; exit failed > 0 }' "$results"
}

take_all() {
	harness_parts=("") guest_again=1 sanitized_turns=1 fuzz_seconds=600 build_check_of=--all
	export RDMANET_FAULT_SAMPLE=all
}

main() {
	local all=0
	if [[ ${1-} == --all ]]; then
		all=1
		take_all
		shift
	fi
	netns-harness/setup.sh "${packages[@]}"
	mkdir -p "$logs"
	: >"$results"
	RDMANET_SEED=$(test/seed)
	export RDMANET_SEED
	say "seed $RDMANET_SEED: to repeat these samples with another commit, run RDMANET_SEED=$RDMANET_SEED $0"
	if build release rdmanet binary_tests; then
		if [[ $# -gt 0 ]]; then run_stages "$@"; else run_lanes; fi
		[[ $all == 0 || $# -gt 0 ]] || run_stages "${only_in_all[@]}"
	fi
	summary
}

main "$@"
