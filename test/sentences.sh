#!/bin/bash
# Reports the length of the documents' sentences in words. It is not a test. The aim is a median of 15 and a 90th
# percentile of 25. Code blocks, headings and pictures do not count. A cell of a table, an item of a list and a paragraph
# end a sentence.
#
#   test/sentences.sh [FILE...]      default: README.md and docs/*.md
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[[ $# -gt 0 ]] || set -- README.md docs/*.md

sentences() { # FILE: a line for each sentence, with its number of words first
	awk '
		function end_paragraph(  count, at, parts) {
			gsub(/\]\([^)]*\)/, "]", text)         # the target of a link
			gsub(/`[^`]*`/, "code", text)          # a command or a value is one word
			gsub(/[.!?:][")*]*[ \t]+/, "&\n", text)
			count = split(text, parts, "\n")
			for (at = 1; at <= count; at++) end_sentence(parts[at])
			text = ""
		}
		function end_sentence(sentence,  words) {
			gsub(/[ \t]+/, " ", sentence)
			gsub(/^ | $/, "", sentence)
			words = split(sentence, words_of, " ")
			if (words > 1) print words, FILENAME ": " sentence
		}
		/^```/ { end_paragraph(); fenced = !fenced; next }
		fenced || /^    / || /^#/ || /^\|[ -]*-/ { end_paragraph(); next }
		/^\|/ { end_paragraph(); cells = split($0, cell, "|"); for (i = 2; i < cells; i++) { text = cell[i]; end_paragraph() } next }
		/^[ \t]*$/ { end_paragraph(); next }
		/^[ \t]*([-*]|[0-9]+\.) / { end_paragraph(); sub(/^[ \t]*([-*]|[0-9]+\.) /, "") }
		{ text = text " " $0 }
		END { end_paragraph() }' "$1"
}

report() { # NAME, lengths on standard input
	sort -n | awk -v name="$1" '{ words[NR] = $1; sum += $1 } END {
		if (NR > 0) printf "%-28s %5d sentences  median %2d  90th percentile %2d  longest %2d\n", name, NR,
			words[int((NR + 1) / 2)], words[int(NR * 0.9 + 0.5)], words[NR]
	}'
}

for file in "$@"; do sentences "$file" | report "$file"; done
for file in "$@"; do sentences "$file"; done | report "all"
echo "the longest:"
for file in "$@"; do sentences "$file"; done | sort -rn | head -n 8 || true
