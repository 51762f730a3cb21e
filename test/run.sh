#!/bin/bash
# Runs the tests: style, static analysis, unit tests and fuzz targets (with sanitizers), the built binary on a real
# kernel (as it is installed, and with sanitizers), and faults. Run it as root. On a fresh Debian 12 it installs the
# Debian packages that it needs and builds everything. The last line is: N passed, N failed, N skipped.
#
#   test/run.sh            the everyday run: ten minutes on two processors. Long parts take samples, which the commit
#                          chooses (test/seed): more of the cases that exercise what it changes (test/touched)
#   test/run.sh --all      no samples, and the parts that only --all has: some hours
#   test/run.sh PART...    only these parts, and the builds that they need. See `everyday` and `only_in_all` below
#
# Environment: RDMANET_SEED   another sample than the commit's
#              RDMANET_BASE   the commit against which changes are counted; default HEAD~1
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$top"
logs=$top/build/test-logs
results=$logs/results # a line for each part: passed, failed, skipped, name

# Packages for the tests in addition to the build's and the harness's: linters, the compiler with libFuzzer, plugins
# to delegate to, a DHCP server (busybox), a gRPC server (the kubelet's). ccache knows what an earlier run has compiled,
# also in another checkout.
packages=(git ccache clang clang-format clang-tidy libclang-rt-14-dev lld shellcheck containernetworking-plugins
	busybox-static dnsmasq-base etcd-server openssl curl python3-grpcio)

# The parts in the order in which they start. Each has the slots that it takes and the parts that must end before it.
# There are three slots for two processors, because a guest waits for its kernel half of the time. "patience" only
# waits. The last parts are short, so that all processors are used until the end.
everyday=(
	"release 2" "servers 1" "style 1" "patience 0 release" "sanitize 2" "e2e 1 release" "e2e-guest-1 1 e2e"
	"cluster 1 release servers" "e2e-guest-2 1 e2e" "unit 1 sanitize" "fault 1 release" "e2e-guest-3 1 e2e"
	"cluster-unit 1 sanitize servers" "cluster-fault 1 release servers" "chaos 1 release servers" "fault-guest-1 1 fault"
	"sanitized 1 release sanitize" "e2e-guest-4 1 e2e" "nodes 1 release" "tidy 1 sanitize" "fuzz 2 sanitize"
	"harness 1 release" "model 2 release" "sanitized-guest-1 1 sanitized" "build 1 release" "demo 1 release"
)
only_in_all=(
	"traffic 1 release" "vfs64 1 release" "bench 2 release" "mutate 2 release"
	"newest-kernel 1 release"
)

# What the everyday run takes of each. --all takes everything.
guest_turns=6                     # one of this many cases that need the guest
guest_again=40                    # one of this many cases that passed natively runs in the guest, too
sanitized_native=3                # one of this many cases again, with the binary that has sanitizers
sanitized_turns=4                 # one of this many of those that need the guest
server_turns=3                    # one of this many cases that need an API server
fuzz_turns=4                      # one of this many fuzz targets
fuzz_seconds=10
chaos_rounds=1                    # of reboots, deaths of servers and the like
chaos_turns=6                     # one of this many commits has them, and those that change what gives addresses
schedules=10000                   # of the addresses' protocol, and all, with each rule, if the commit changes it
harness_turns=8                   # one of this many commits tests the software NIC itself, and those that change it

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

# build PRESET TARGET...: a failed build is a failed part, and the parts that need it are left out.
build() {
	local log=$logs/build-$1.log
	cmake --preset "$1" >"$log" 2>&1 && cmake --build --preset "$1" --target "${@:2}" >>"$log" 2>&1 && return
	grep -E 'error:|Error|undefined reference' -A5 "$log" | head -60
	say "the build failed, see $log"
	return 1
}

part_release() { build release rdmanet binary_tests model_test; }
part_sanitize() { build sanitize rdmanet unit_tests; }

# Without a server, the cases that need one are skipped, and say so.
part_servers() { test/cluster/cluster.sh build || true; }

sources() { git ls-files '*.cpp' '*.hpp' 'netns-harness/simrnic/*.[ch]'; }

# clang-format does not wrap comments.
no_wide_comments() { ! sources | xargs grep -nE '^ *//.{119}'; }

part_style() {
	check comment-width no_wide_comments
	check circles test/circles.py
	# shellcheck disable=SC2046 # one argument for each file
	check clang-format clang-format --dry-run --Werror $(sources)
	# shellcheck disable=SC2046
	check shellcheck shellcheck -x -S warning $(git ls-files '*.sh' .ci/run)
}

part_tidy() { check clang-tidy test/tidy.sh ${tidy_all:-}; }

part_unit() {
	local program
	for program in build/sanitize/test/unit/*/*_test; do
		[[ $program != */cluster_test ]] || continue # cluster-unit
		# Some cases kill a process at each of its system calls and fork thousands of times. With a smaller quarantine they
		# take half the time.
		ASAN_OPTIONS=quarantine_size_mb=4 counted "unit-$(basename "$program")" "$program" -r progress
	done
}

# Only optimised code has so many schedules in a minute.
part_model() {
	local few=(${schedules:+--schedules "$schedules"})
	! changes '(src|include/rdmanet)/(cluster|ipam)/|test/model/' || few=()
	counted model build/release/test/model/model_test "${few[@]}"
}

part_fuzz() {
	local targets
	mapfile -t targets < <(find test/fuzz/corpus -mindepth 1 -printf '%f\n' -prune | sort | one_of $fuzz_turns)
	RDMANET_FUZZ_PRESET=sanitize counted fuzz test/fuzz/run.sh $fuzz_seconds "${targets[@]}"
}

guest() { netns-harness/run.sh "$@"; }

# Uses this machine's kernel if it suffices, otherwise the guest's.
any_kernel() { RDMANET_HARNESS_NEEDS="netns veth macvlan ${needs:-}" netns-harness/run.sh "$@"; }

release=$top/build/release/cmd/rdmanet/rdmanet
sanitized=$top/build/sanitize/cmd/rdmanet/rdmanet
e2e_test=build/release/test/e2e/e2e_test

# suite NAME LOG KERNEL ARGUMENT...: runs cases of a suite on a kernel.
suite() {
	local name=$1 log=$2 kernel=$3
	shift 3
	case $name in
	e2e) RDMANET_BINARY=$release counted "$log" "$kernel" $e2e_test -r progress "$@" ;;
	sanitized)
		# Leak detection is off, because it takes a third of each process's time. The unit tests do it.
		RDMANET_BINARY=$sanitized counted "$log" "$kernel" \
			env ASAN_OPTIONS=detect_leaks=0 $e2e_test -r progress "$@"
		;;
	fault)
		needs=ptrace RDMANET_HARNESS_NIC='nics=1 ports=1 vfs=2 gid_table_len=16' \
			counted "$log" "$kernel" test/fault/run.sh "$@"
		;;
	esac
}

# The lines that the commit chooses: one of N.
one_of() { sed -n "$((RDMANET_SEED % $1 + 1))~$1p"; }

changed_files() { git diff --name-only "${RDMANET_BASE:-HEAD~1}" 2>/dev/null || true; }
changes() { changed_files | grep -qE "^($1)"; }

# Names of the cases that exercise what the commit changes, and at most as many as a run has time for. test/touched has
# the tags for each source.
touched_cases() {
	local changed pattern tags
	changed=$(changed_files)
	while read -r pattern tags; do
		! grep -qE "$pattern" <<<"$changed" || $e2e_test --list-test-names-only "$tags" || true # the status is their number
	done < <(grep -v '^#' test/touched) | sort -u | shuf -n 24 --random-source=<(yes "$RDMANET_SEED")
}

# choose_cases FILE TURNS PROGRAM TAGS: writes the names of one of TURNS cases. The others count as skipped.
choose_cases() {
	{ "$3" --list-test-names-only "$4" || true; } | sort >"$1-all" # the status is their number
	one_of "$2" <"$1-all" | sed 's/,/\\,/g' >"$1"                   # a comma would end a name
	result 0 0 "$(($(wc -l <"$1-all") - $(wc -l <"$1")))" "${1##*/}: left out"
}

# on_this_kernel SUITE TURNS [CASES]: runs the cases on this machine's kernel if it has what most of them need. The
# cases that it cannot run are left to the guest, where everything takes several times as long: one of TURNS, and those
# that exercise what the commit changes. The others count as skipped.
on_this_kernel() {
	local log=$logs/$1.log left=$logs/$1-left
	suite "$1" "$1" any_kernel "${@:3}"
	: >"$left"
	grep -q '^harness: native' "$log" || return 0
	sed -nE 's/^skip (.*): this machine lacks .*/\1/p' "$log" | sort >"$left-all"
	{ one_of "$2" <"$left-all" && { touched_cases | grep -xFf - "$left-all" || true; }; } | sort -u >"$left"
}

# in_guest SUITE PART: this part of the cases that were left to the guest.
in_guest() {
	local left=$logs/$1-left parts
	parts=$(grep -cE "^$1-guest-[0-9]" <(printf '%s\n' "${everyday[@]}"))
	split -n "r/$2/$parts" "$left" >"$left-$2"
	[[ -s $left-$2 ]] || return 0
	result 0 0 "-$(grep -cxFf "$left-all" "$left-$2" || true)" "$1-guest-$2: skipped before"
	sed -i 's/,/\\,/g' "$left-$2"
	RDMANET_HARNESS_CPUS=1 suite "$1" "$1-guest-$2" guest -f "$left-$2"
}

part_e2e() {
	on_this_kernel e2e $guest_turns '~[.]~[cluster]'
	# Kernels differ.
	sed -nE 's/^(ok  |FAIL) (.*) \([0-9]+ ms\)$/\2/p' "$logs/e2e.log" | sort | one_of $guest_again >>"$logs/e2e-left"
}

# Leaves out cases about documents, large inputs, static binaries and a missing /proc.
part_sanitized() {
	choose_cases "$logs/sanitized-cases" $sanitized_native $e2e_test \
		'[core],~[.]~[cluster]~[memory-limit]~[static]~[no-proc]~[large]~[examples]~[readme]~[rdma]~[ipvlan]~[ipoib]~[infiniband]~[device]~[sriov]'
	on_this_kernel sanitized $sanitized_turns -f "$logs/sanitized-cases"
}

part_fault() { on_this_kernel fault 1; }

# Cases in which something hangs until a deadline of almost a minute.
part_patience() {
	RDMANET_BINARY=$release counted patience any_kernel $e2e_test -r progress '[.hang]'
}

cluster_test=build/sanitize/test/unit/cluster/cluster_test
fault_test=build/release/test/fault/fault_test
with_server=test/cluster/cluster.sh

# with_server_cases NAME PROGRAM TAGS COMMAND...: runs COMMAND with a file of cases that need an API server: one of three,
# and every other one if the commit changes what they exercise.
with_server_cases() {
	local name=$1 turns=$server_turns
	! changes 'src/(cluster|kube)/' || ((turns == 1)) || turns=2
	choose_cases "$logs/$name-cases" "$turns" "$2" "$3"
	counted "$name" "${@:4}" -f "$logs/$name-cases"
}

part_cluster-unit() {
	with_server_cases cluster-unit $cluster_test '~[.]' $with_server try $cluster_test -r progress
}

part_cluster() {
	RDMANET_BINARY=$release with_server_cases cluster $e2e_test '[cluster]' \
		any_kernel $with_server try $e2e_test -r progress
}

part_cluster-fault() {
	needs=ptrace with_server_cases cluster-fault $fault_test '[cluster]' any_kernel $with_server try test/fault/run.sh
}

part_chaos() {
	if ! changes '(src|include/rdmanet)/(cluster|ipam|leases)/|test/cluster/' && ((RDMANET_SEED % chaos_turns)); then
		result 0 0 1 "chaos: left out"
		return
	fi
	RDMANET_CHAOS_ROUNDS=$chaos_rounds RDMANET_BINARY=$release counted chaos any_kernel $with_server try test/cluster/chaos.py
}

# Without "none" it has long parts, too.
part_harness() {
	if ((harness_turns == 1)) || changes netns-harness/; then
		counted harness guest netns-harness/selftest.sh
	elif ((RDMANET_SEED % harness_turns == 0)); then
		counted harness guest netns-harness/selftest.sh none
	else
		result 0 0 1 "harness: left out"
	fi
}

part_demo() { check demo guest netns-harness/demo.sh inside; }

part_nodes() { counted nodes test/nodes/run.sh; }

part_build() { counted build test/build_check.sh ${build_check_of:-}; }

part_bench() {
	build release benchmarks
	check bench test/bench/run.sh 30
	check bench-guest test/bench/run.sh --guest 30
	check bench-node test/bench/node.sh
	check bench-verify test/bench/verify.sh
	cat "$logs"/bench*.log
}

# All programs for each kind of attachment. The everyday run takes one program each.
part_traffic() {
	RDMANET_BINARY=$release counted traffic guest $e2e_test -r progress '[.matrix]'
}

part_vfs64() {
	RDMANET_HARNESS_MEM=3072 RDMANET_PARALLEL_VFS=64 RDMANET_BINARY=$release counted vfs64 guest $e2e_test -r progress '[parallel]'
}

# Survivors are listed, and are no failures: a person decides whether a user could notice them.
part_mutate() {
	check mutate test/mutate.sh --seed "$RDMANET_SEED" 20
	cat "$logs/mutate.log"
}

# Debian sid's kernel. It takes 0.7 GB below build/ and needs a mirror.
part_newest-kernel() {
	local root=$top/build/sid
	netns-harness/setup.sh mmdebstrap
	if [[ ! -e $root/usr/bin/make ]]; then
		rm -rf "$root"
		# The mirror may be some weeks old.
		mmdebstrap --quiet --variant=apt --include=linux-image-amd64,linux-headers-amd64,make \
			--aptopt='Acquire::Check-Valid-Until "false"' sid "$root" ||
			{ result 0 0 1 "newest-kernel: cannot download Debian sid" && return; }
	fi
	# With two processors this kernel dies of an int3 that it put in place of a jump label. The emulator executes it on
	# the other processor after the kernel removed it.
	export RDMANET_HARNESS_KERNEL_ROOT=$root RDMANET_HARNESS_CPUS=1
	counted newest-kernel-harness guest netns-harness/selftest.sh
	RDMANET_BINARY=$release counted newest-kernel-e2e guest $e2e_test -r progress
}

# Prints the processors' seconds in what `times` (POSIX) wrote: of the shell, and below of its children.
processor_seconds() { awk -F'[ms ]' 'NR == 2 { print int($1 * 60 + $2 + $4 * 60 + $5) }' "$1"; }

# Runs a part by its name; the parts of a suite in guests share a function.
run_part() {
	trap 'times >"$logs/times-'"$1"'"' EXIT
	if [[ $1 =~ ^(.*)-guest-([0-9]+)$ ]]; then
		in_guest "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"
	else
		"part_$1"
	fi
}

# What `run_parts` knows of each part.
declare -A slots_of=() needs_of=() pid_of=() name_of=() started_at=() ended=()

# Sets `wanted`: the named parts, and before each what it needs.
with_needs() {
	local name need
	for name in "$@"; do
		[[ -v slots_of[$name] ]] || { say "no part is called $name: ${!slots_of[*]}" && exit 1; }
		for need in ${needs_of[$name]}; do with_needs "$need"; done
		[[ " ${wanted[*]} " == *" $name "* ]] || wanted+=("$name")
	done
}

# True if all that it needs has ended, or is not to be waited for because it failed.
is_ready() {
	local need
	for need in ${needs_of[$1]}; do [[ -v ended[$need] ]] || return 1; done
}

start() {
	local name=$1 need
	for need in ${needs_of[$name]}; do
		[[ ${ended[$need]} == 0 ]] || { say "$name is left out, because $need failed" && ended[$name]=1 && return; }
	done
	run_part "$name" 2>&1 </dev/null | sed -u "s/^/$name  /" &
	pid_of[$name]=$! name_of[$!]=$name started_at[$name]=$SECONDS
	free=$((free - slots_of[$name]))
}

finish() { # PID STATUS
	local name=${name_of[$1]}
	unset "pid_of[$name]"
	ended[$name]=$2
	[[ $2 == 0 ]] || result 0 1 0 "$name: exit status $2"
	free=$((free + slots_of[$name]))
	echo "$((SECONDS - started_at[$name])) $name $(processor_seconds "$logs/times-$name")" >>"$logs/times"
}

say_what_runs() {
	local name text=
	for name in "${!pid_of[@]}"; do text+=" $name ($((SECONDS - started_at[$name])) s)"; done
	say "$((SECONDS / 60)):$(printf %02d $((SECONDS % 60))), ${#waiting[@]} parts wait, running:$text"
}

run_parts() {
	local waiting=("$@") later blocked name pid status tick free=$((($(nproc) * 3 + 1) / 2))
	: >"$logs/times"
	sleep 15 &
	tick=$!
	while ((${#waiting[@]} + ${#pid_of[@]})); do
		later=()
		blocked=0 # no part may overtake one that only waits for slots, or two slots would never be free at once
		for name in "${waiting[@]}"; do
			if ((blocked)) || ! is_ready "$name"; then
				later+=("$name")
			elif ((slots_of[$name] <= free || ${#pid_of[@]} == 0)); then
				start "$name"
			else
				blocked=1 later+=("$name")
			fi
		done
		waiting=("${later[@]}")
		((${#pid_of[@]})) || continue
		status=0
		wait -n -p pid || status=$?
		if [[ $pid == "$tick" ]]; then
			say_what_runs
			sleep 15 &
			tick=$!
		else
			finish "$pid" "$status"
		fi
	done
	kill "$tick" 2>/dev/null || true
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
	say "the slowest parts:"
	sort -rn "$logs/times" | head -10 | awk '{ printf "     %-18s %4d s, %4d s of the processors\n", $2, $1, $3 }'
	times >"$logs/times-all"
	say "all took $SECONDS s, $(processor_seconds "$logs/times-all") s of the processors"
	while read -r _ failed _ name; do
		[[ $failed -gt 0 ]] || continue
		echo "failed: $failed in $name"
		[[ ! -f $logs/${name%%:*}.log ]] || failures_in "$logs/${name%%:*}.log"
	done <"$results"
	awk '{ passed += $1; failed += $2; skipped += $3 }
		END { printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped; exit failed > 0 }' "$results"
}

take_all() {
	guest_turns=1 guest_again=1 sanitized_native=1 sanitized_turns=1 server_turns=1 chaos_rounds=20 chaos_turns=1 schedules='' fuzz_turns=1 fuzz_seconds=120 harness_turns=1 build_check_of=--all tidy_all=--all
	export RDMANET_FAULT_SAMPLE=${RDMANET_FAULT_SAMPLE:-calls}
	everyday+=("${only_in_all[@]}")
}

main() {
	local part names=() name slots waits_for wanted=()
	if [[ ${1-} == --all ]]; then
		take_all
		shift
	fi
	for part in "${everyday[@]}" "${only_in_all[@]}"; do
		read -r name slots waits_for <<<"$part"
		slots_of[$name]=$slots needs_of[$name]=$waits_for
	done
	for part in "${everyday[@]}"; do names+=("${part%% *}"); done
	[[ $# == 0 ]] || names=("$@")
	netns-harness/setup.sh "${packages[@]}"
	rm -rf "$logs"
	mkdir -p "$logs"
	: >"$results"
	RDMANET_SEED=$(test/seed)
	export RDMANET_SEED
	say "seed $RDMANET_SEED: to repeat these samples with another commit, run RDMANET_SEED=$RDMANET_SEED $0"
	with_needs "${names[@]}"
	[[ $# == 0 ]] || names=("${wanted[@]}")
	run_parts "${names[@]}"
	summary
}

main "$@"
