#!/bin/bash
# Builds the fuzz targets and runs each of them for a while. As many run at the same time as there are processors.
#
#   test/fuzz/run.sh [SECONDS [TARGET...]]   default: every target for 10 seconds
#
# For each target it prints how many inputs it ran and how much of the code they reached.
# - Each run starts with the inputs in test/fuzz/corpus, and configuration_fuzz also with those in conf-examples.
# - The inputs that a run collects are in build/fuzz-corpus/TARGET. The next run deletes them.
# - An input that breaks something is kept in build/fuzz-crashes.
# - Every run chooses other inputs, because its seed is random. It prints the seed.
# The last line is: N passed, N failed, N skipped.
#
# Environment: RDMANET_FUZZ_PRESET   default: fuzz, which is optimised; the tests use sanitize, which they have built anyway
#              RDMANET_SEED          the seed, to repeat a run; test/run.sh sets it to that of the commit (test/seed)
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$top"
seconds=${1:-10}
preset=${RDMANET_FUZZ_PRESET:-fuzz}
targets=("${@:2}")
[[ ${#targets[@]} -gt 0 ]] ||
	targets=(configuration_fuzz prev_result_fuzz cni_args_fuzz record_fuzz leases_fuzz lease_damage_fuzz
		dns_answer_fuzz http_answer_fuzz kubeconfig_fuzz node_file_fuzz memory_file_fuzz whereabouts_object_fuzz
		blocks_object_fuzz seen_object_fuzz podresources_answer_fuzz)
seed=${RDMANET_SEED:-$((RANDOM << 15 | RANDOM))}
crashes=$top/build/fuzz-crashes
corpora=$top/build/fuzz-corpus

build() {
	local log=$top/build/fuzz-build.log
	mkdir -p "$top/build"
	cmake --preset "$preset" >"$log" 2>&1 && cmake --build --preset "$preset" --target "${targets[@]}" >>"$log" 2>&1 && return
	grep -E 'error:|Error|undefined reference' -A5 "$log" | head -60
	echo "the build failed, see $log"
	return 1
}

# The elements of the examples' plugin lists, each with what the runtime adds.
seed_configurations() {
	local example
	for example in conf-examples/*.conflist; do
		jq -c '{cniVersion, name} as $network | .plugins[] | select(.type == "rdmanet" or .ipam.type == "rdmanet") + $network' \
			"$example" | split -l 1 -a 2 - "$1/$(basename "$example")-"
	done
	cp conf-examples/*.json "$1/"
}

# libFuzzer's options besides the time: the longest input, and a file with the words of the format.
options_of() {
	case $1 in
	cni_args_fuzz) echo "-max_len=512 -dict=test/fuzz/args.dict" ;;
	leases_fuzz) echo "-max_len=128" ;;
	lease_damage_fuzz) echo "-max_len=35" ;;
	dns_answer_fuzz | podresources_answer_fuzz) echo "-max_len=600" ;;
	http_answer_fuzz) echo "-max_len=1500 -dict=test/fuzz/http.dict" ;;
	kubeconfig_fuzz) echo "-max_len=2048 -dict=test/fuzz/kubeconfig.dict" ;;
	configuration_fuzz) json_options "$1" 4096 cni config ipam ;;
	prev_result_fuzz) json_options "$1" 4096 cni ;;
	record_fuzz) json_options "$1" 4096 state attach ;;
	node_file_fuzz) json_options "$1" 2048 ipam ;;
	*) json_options "$1" 4096 cluster ;;
	esac
}

# json_options TARGET LENGTH MODULE...: the words are those of json.dict, and the keys and values that the modules' sources have.
json_options() {
	local dictionary=$corpora/$1.dict sources=("${@:3}")
	sources=("${sources[@]/#/src/}")
	{
		cat test/fuzz/json.dict
		grep -rhoE '\w\("[A-Za-z][A-Za-z0-9._/-]*"' "${sources[@]}" | sed -E 's/^.*"(.*)"$/"\\"\1\\":"/'
		grep -rhoE '[{ ]"[a-z0-9][A-Za-z0-9-]*"' "${sources[@]}" | sed -E 's/^."(.*)"$/"\\"\1\\""/'
	} | sort -u >"$dictionary"
	echo "-max_len=$2 -dict=$dictionary"
}

fuzz() {
	local target=$1 corpus=$corpora/$1 log=$corpora/$1.log options status=0
	mkdir -p "$corpus" "$crashes"
	cp "test/fuzz/corpus/$target/"* "$corpus/"
	[[ $target != configuration_fuzz ]] || seed_configurations "$corpus"
	read -r -a options <<<"$(options_of "$target")"
	# For libFuzzer, 0 means any seed.
	"build/$preset/test/fuzz/$target" -seed=$((seed + 1)) -max_total_time="$seconds" -timeout=60 -rss_limit_mb=2048 \
		-len_control=0 -print_final_stats=1 "${options[@]}" -artifact_prefix="$crashes/$target-" "$corpus" >"$log" 2>&1 || status=$?
	echo "$status" >"$corpora/$target.status"
}

# Prints one line for the target. For a failure it also prints the reason and how to repeat it.
report() {
	local target=$1 log=$corpora/$1.log runs coverage input
	runs=$(sed -nE 's/^stat::number_of_executed_units: +//p' "$log")
	coverage=$(sed -nE 's/.* cov: ([0-9]+) .*/\1/p' "$log" | tail -1)
	if [[ $(<"$corpora/$target.status") == 0 ]]; then
		printf 'ok   %-20s %8s runs, coverage %s\n' "$target" "$runs" "$coverage"
		return 0
	fi
	printf 'FAIL %-20s %8s runs, coverage %s\n' "$target" "${runs:-?}" "${coverage:-?}"
	grep -E '^broken:|ERROR:|runtime error:|what\(\):|terminat' "$log" | head -5 | sed 's/^/     /'
	input=$(sed -nE 's/.*Test unit written to (.*)/\1/p' "$log" | tail -1)
	echo "     again: build/$preset/test/fuzz/$target ${input:-, see $log}"
	return 1
}

build || {
	echo "0 passed, 1 failed, 0 skipped"
	exit 1
}
echo "fuzz seed $seed: to repeat this run, set RDMANET_SEED=$seed"
rm -rf "$corpora"
mkdir -p "$corpora"
memory=$(mktemp -d -p /dev/shm rdmanet-fuzz-XXXXXX)
trap 'rm -rf "$memory"' EXIT
export TMPDIR=$memory

for target in "${targets[@]}"; do
	while (($(jobs -rp | wc -l) >= $(nproc))); do wait -n; done
	fuzz "$target" &
done
wait

passed=0 failed=0
for target in "${targets[@]}"; do
	if report "$target"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
done
echo "$passed passed, $failed failed, 0 skipped"
[[ $failed == 0 ]]
