#!/bin/bash
# Static analysis with clang-tidy, one module at a time, as the preset sanitize compiles them.
#
#   test/tidy.sh          the modules that the last commit and the work tree change, and one of six of the others, which
#                         change with the commit (test/seed)
#   test/tidy.sh --all    every module
#
# Needs neither root nor a build. The exit status tells whether something was found.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$top"
database=build/tidy/compile_commands.json

# The precompiled headers may not have been built yet, so they are read as plain headers.
write_database() {
	[[ -f build/sanitize/compile_commands.json ]] || cmake --preset sanitize >/dev/null
	mkdir -p build/tidy
	jq --arg prefix "$top/build/sanitize/" '
		map(select(.file | test("^" + $prefix + "(src|cmd)/.*/Unity/"))
			| .command |= gsub("-Xclang -include-pch -Xclang \\S+ "; ""))' build/sanitize/compile_commands.json >$database
}

# The module of a file is the nearest folder above it that is compiled. A public header belongs to the module's sources.
changed_modules() {
	local path
	git diff --name-only "$(git rev-parse -q --verify HEAD~1 || git hash-object -t tree /dev/null)" -- cmd include src |
		sed 's|^include/rdmanet/|src/|' | while read -r path; do
		while [[ $path == */* ]]; do
			path=${path%/*}
			! grep -Fx "$path" "$1" || break
		done
	done | sort -u
}

# Prints the folders of the modules to look at.
chosen_modules() {
	local every=6 modules=build/tidy/modules
	jq -r --arg prefix "$top/build/sanitize/" '.[].file | ltrimstr($prefix) | sub("/CMakeFiles/.*"; "")' $database |
		sort -u >$modules
	if [[ ${1-} == --all ]]; then
		cat $modules
	else
		{ changed_modules $modules && sed -n "$(($(test/seed) % every + 1))~${every}p" $modules; } | sort -u
	fi
}

write_database
chosen_modules "${1-}" >build/tidy/chosen
sed 's/^/clang-tidy: /' build/tidy/chosen
jq -r --arg prefix "$top/build/sanitize/" --rawfile chosen build/tidy/chosen '
	.[].file | select(ltrimstr($prefix) | sub("/CMakeFiles/.*"; "") | IN($chosen | split("\n")[]))' $database |
	xargs -d '\n' -n 1 clang-tidy --quiet -p build/tidy 2>&1 | { grep -v ' warnings\? generated\.$' || true; }
