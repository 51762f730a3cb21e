#!/bin/bash
# Checks the build itself:
# - what `cmake --install` installs
# - that a build without the tests does not need their packages
# - the commit in --version
# - the size of the program
# - that each module sees only the modules that ARCHITECTURE.md lists for it
# - that each source file compiles by itself, which the release build with one file for each module does not show
#
#   test/build_check.sh                 all of this, with one of 24 source files, which change with the commit, and
#                                       with the files that the commit changes
#   test/build_check.sh --all           all source files, and the whole preset "debug" with its tests
#   test/build_check.sh --compilers     instead compiles the product with every installed g++ and clang++; warnings are
#                                       errors
#
# Needs the release build of `rdmanet`, but not root. The last line is: N passed, N failed, N skipped.
set -uo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$top" || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset DESTDIR
passed=0
failed=0
every=24
[[ ${1:-} != --all ]] || every=1

check() {
	local name=$1
	shift
	if "$@" >"$work/log" 2>&1; then
		echo "ok   $name"
		passed=$((passed + 1))
	else
		tail -n 40 "$work/log"
		echo "FAIL $name"
		failed=$((failed + 1))
	fi
}

same() { diff -u <(printf '%s\n' "$1") <(printf '%s\n' "$2"); }

# Unpacks the tree as a tarball: committed files, and changes of tracked files.
unpack_tarball() {
	local tree
	tree=$(git stash create) && mkdir "$work/tarball" && git archive "${tree:-HEAD}" | tar -x -C "$work/tarball"
}

# Configures as a packager does on a machine without Catch2.
configure_package() {
	cmake -S "$work/tarball" -B "$work/package" -D BUILD_TESTING=OFF -D CMAKE_DISABLE_FIND_PACKAGE_Catch2=ON \
		-D CMAKE_BUILD_TYPE=MinSizeRel -D CMAKE_EXPORT_COMPILE_COMMANDS=ON -D CMAKE_INSTALL_PREFIX=/usr \
		-D RDMANET_PLUGIN_DIR=/opt/cni/bin
}

warnings_are_errors_in_presets_only() {
	[[ -s $work/package/compile_commands.json ]] && ! grep -q -e -Werror "$work/package/compile_commands.json" &&
		jq -e 'all(.[]; (.command | contains("-Werror")))' build/release/compile_commands.json
}

# The paths in a DESTDIR, and where links lead.
installed_in() { (cd "$1" && find . ! -type d -printf '%P %l\n' | sed 's/ $//' | sort); }

documents() {
	(printf '%s\n' README.md CHANGELOG.md ARCHITECTURE.md CONTRIBUTING.md LICENSE netns-harness/README.md &&
		git ls-files docs conf-examples) |
		sed 's|^|usr/share/doc/rdmanet/|'
}

installs_what_belongs_to_a_distribution() {
	DESTDIR=$work/debian cmake --install build/release --prefix /usr &&
		same "$(printf '%s\n' usr/lib/cni/rdmanet 'usr/sbin/rdmanet ../lib/cni/rdmanet' "$(documents)" | sort)" \
			"$(installed_in "$work/debian")" &&
		same "$(build/release/cmd/rdmanet/rdmanet version)" "$("$work/debian/usr/sbin/rdmanet" version)" &&
		[[ $(stat -c %a "$work/debian/usr/lib/cni/rdmanet") == 755 ]]
}

# Every relative link of an installed page leads to an installed file.
links_lead_to_installed_files() {
	local page target dead=0 links=0
	while read -r page target; do
		links=$((links + 1))
		[[ -e ${page%/*}/$target ]] || {
			echo "${page#"$work/debian/"}: $target is not installed"
			dead=1
		}
	done < <(cd / && grep -roP --include='*.md' '\]\(\K(?![a-z]+:|#)[^)#\s]+' "$work/debian" | sed 's/:/ /')
	echo "$links links" && ((links > 50 && dead == 0))
}

# Copies the release build's binary, because this is only about the place.
installs_where_upstream_looks() {
	mkdir -p "$work/package/cmd/rdmanet" && cp build/release/cmd/rdmanet/rdmanet "$work/package/cmd/rdmanet/" &&
		DESTDIR=$work/upstream cmake --install "$work/package" &&
		same "$(printf '%s\n' opt/cni/bin/rdmanet 'usr/sbin/rdmanet /opt/cni/bin/rdmanet' "$(documents)" | sort)" \
			"$(installed_in "$work/upstream")"
}

# commit_of TREE [TEXT]: the commit that a build of the tree would report.
commit_of() {
	cmake -D SOURCE="$1" -D OUTPUT="$work/commit.cpp" -D COMMIT="${2:-}" -P "$1/cmake/commit.cmake" &&
		sed -n 's/.*kCommit\[\] = "\(.*\)";/\1/p' "$work/commit.cpp"
}

version_has_the_commit() {
	same "$(build/release/cmd/rdmanet/rdmanet --version)" \
		"rdmanet $(sed -n 's/^project(rdmanet VERSION \(\S*\) .*/\1/p' CMakeLists.txt) (commit $(commit_of "$top"))" &&
		[[ $(commit_of "$top") == "$(git rev-parse --short=12 HEAD)"?(-dirty) ]]
}

tarball_has_its_commit() {
	local archived
	archived=$(head -c 12 "$work/tarball/cmake/commit.txt")
	[[ $archived =~ ^[0-9a-f]{12}$ ]] && same "$archived" "$(commit_of "$work/tarball")" &&
		same packaged-3 "$(commit_of "$work/tarball" packaged-3)"
}

# A hash of the sources tells copies apart. The commit of a repository around the copy must not be used.
copy_has_a_hash() {
	local copy=$work/repository/copy before
	mkdir "$work/repository" && git init -q "$work/repository" && cp -r "$work/tarball" "$copy" &&
		cp cmake/commit.txt "$copy/cmake/" && before=$(commit_of "$copy") &&
		[[ $before =~ ^none,\ sources\ [0-9a-f]{12}$ ]] && same "$before" "$(commit_of "$copy")" &&
		echo >>"$copy/src/base/text.cpp" && [[ $(commit_of "$copy") != "$before" ]]
}

# Every build looks up the commit, and an unchanged commit causes no work.
nothing_to_do_is_nothing_done() {
	local before
	cmake --build build/release --target rdmanet && before=$(stat -c %y build/release/cmd/rdmanet/rdmanet) &&
		cmake --build build/release --target rdmanet && same "$before" "$(stat -c %y build/release/cmd/rdmanet/rdmanet)"
}

# Asks the preprocessor, with the options of one of the module's sources, which modules' headers it finds.
modules_see_what_the_table_says() {
	local module uses options headers wrong=0
	headers=$(for module in include/rdmanet/*; do
		(cd include && compgen -G "rdmanet/${module##*/}/*.hpp") | sed -n "1s|.*|#if __has_include(<&>)\n${module##*/}\n#endif|p"
	done)
	while IFS='|' read -r _ module _ uses _; do
		module=${module//[\` ]/}
		options=$(jq -r --arg source "$work/tarball/src/$module/" 'first(.[] | select(.file | sub("[^/]*$"; "") == $source)) |
			.command | sub(" -o .*"; "")' "$work/package/compile_commands.json") &&
			same "$module: $(tr ',' '\n' <<<"$module,$uses" | tr -d ' ' | sort | xargs)" \
				"$module: $($options -E -P -x c++ - <<<"$headers" | sort | xargs)" || wrong=1
	done < <(sed -n '/^## Modules/,/^## /p' ARCHITECTURE.md | grep -E '^\| `[a-z]+` ')
	return $wrong
}

fits_into_10_mb() {
	local bytes
	bytes=$(stat -c %s build/release/cmd/rdmanet/rdmanet) && echo "$bytes bytes" && [[ $bytes -le 10000000 ]]
}

# One of `every` source files, which changes with the commit, and the files that the commit changes; but for what only
# static binaries are built of.
chosen_sources() {
	local at
	at=$((16#$(git rev-parse --short=7 HEAD) % every))
	(git ls-files 'src/*.cpp' 'cmd/*.cpp' | sed -n "$((at + 1))~${every}p" &&
		git show --format= --name-only --diff-filter=d HEAD -- 'src/*.cpp' 'cmd/*.cpp') | sort -u |
		grep -vx cmd/rdmanet/no_services.cpp
}

# Compiles like the preset debug, but without generating code, which takes most of the time.
sources_compile_alone() {
	cmake --preset debug && chosen_sources >"$work/sources" && cat "$work/sources" &&
		jq -r --rawfile chosen "$work/sources" --arg top "$top/" \
			'($chosen | split("\n")) as $chosen | .[] | select((.file | ltrimstr($top)) as $file | $chosen | index($file))
			 | "cd \(.directory) && \(.command | sub(" -o \\S+"; "") | sub(" -c "; " -fsyntax-only "))"' \
			build/debug/compile_commands.json >"$work/commands" &&
		[[ $(wc -l <"$work/commands") == $(wc -l <"$work/sources") ]] &&
		xargs -d '\n' -P "$(nproc)" -n 1 bash -c <"$work/commands"
}

# --compilers: compiles a copy, because the tree may change meanwhile. A unity build is the fastest.
compiles_with() {
	local name=${1##*/}
	cmake -S "$work/tarball" -B "$work/$name" -G Ninja -D CMAKE_CXX_COMPILER="$1" -D BUILD_TESTING=OFF -D CMAKE_BUILD_TYPE=MinSizeRel \
		-D CMAKE_UNITY_BUILD=ON -D CMAKE_COMPILE_WARNING_AS_ERROR=ON &&
		cmake --build "$work/$name" --target rdmanet && "$work/$name/cmd/rdmanet/rdmanet" --version
}

check "the tree can be packed and unpacked" unpack_tarball
if [[ ${1:-} == --compilers ]]; then
	for compiler in $(compgen -G '/usr/bin/g++-[0-9]*' | sort -V) $(compgen -G '/usr/bin/clang++-[0-9]*' | sort -V); do
		check "the product compiles with ${compiler##*/} without a warning" compiles_with "$compiler"
	done
else
	check "a package is configured without tests and Catch2" configure_package
	check "warnings are errors in the presets, but not in a package" warnings_are_errors_in_presets_only
	check "cmake --install installs plugin, link, documents, examples and licence" installs_what_belongs_to_a_distribution
	check "links of the installed pages lead to installed files" links_lead_to_installed_files
	check "RDMANET_PLUGIN_DIR installs the plugin where upstream's runtimes look" installs_where_upstream_looks
	check "--version reports the commit" version_has_the_commit
	check "a tarball has its commit, and a packager may set another" tarball_has_its_commit
	check "a copy without a commit has a hash of its sources" copy_has_a_hash
	check "a second build compiles nothing" nothing_to_do_is_nothing_done
	check "the program has at most 10 MB" fits_into_10_mb
	check "each module sees the modules that ARCHITECTURE.md lists, and no others" modules_see_what_the_table_says
	check "source files compile by themselves: one of $every, and those that the commit changes" sources_compile_alone
	if [[ ${1:-} == --all ]]; then
		check "the preset debug builds, with its tests" cmake --build --preset debug
	fi
fi

echo "$passed passed, $failed failed, 0 skipped"
[[ $failed == 0 ]]
