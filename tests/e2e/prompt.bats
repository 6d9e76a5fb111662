# where the prompt comes from, and what becomes of its bytes
load lib

ids() { infer-run --tokenize "$@"; }

@test "arguments are joined by spaces" {
	same "$(ids --no-stdin 'the of and')" "$(ids --no-stdin the of and)"
}

@test "standard input is read when it is not a terminal; one final newline is dropped" {
	same "$(ids --no-stdin 'the of')" "$(printf 'the of' | ids)"
	same "$(ids --no-stdin 'the of')" "$(printf 'the of\n' | ids)"
	same "$(ids --no-stdin $'the of\n')" "$(printf 'the of\n\n' | ids)"
}

@test "-f FILE is added; one final newline of each file is dropped" {
	printf 'the of\n' >a
	printf 'and to' >b
	same "$(ids --no-stdin 'the of')" "$(ids --no-stdin -f a)"
	same "$(ids --no-stdin $'the of\n\nand to')" "$(ids --no-stdin -f a --file b)"
}

@test "arguments, files and standard input stand in this order, a blank line between them" {
	printf 'two\n' >a
	printf 'three' >b
	same "$(ids --no-stdin $'one\n\ntwo\n\nthree\n\nfour')" "$(printf 'four\n' | ids -f a one -f b)"
}

@test "parts that are empty leave no blank line" {
	: >empty
	same "$(ids --no-stdin one)" "$(ids one -f empty </dev/null)"
	same "$(ids --no-stdin one)" "$(printf '\n' | ids one)"
}

@test "-f - is standard input, read once, in its place" {
	printf 'two' >a
	same "$(ids --no-stdin $'one\n\ntwo')" "$(printf 'one\n' | ids -f - -f a)"
}

@test "the argument - is standard input in its place, read once" {
	printf 'two' >a
	same "$(ids --no-stdin $'one and\n\ntwo\n\nthree')" "$(printf 'two\n' | ids one and - three)"
	same "$(ids --no-stdin $'one\n\ntwo')" "$(printf 'one\n' | ids - -f a)"
	same "$(ids --no-stdin $'one\n\ntwo')" "$(printf 'two\n' | ids --no-stdin one -- -)"
	same "$(ids --no-stdin one)" "$(ids --no-stdin - one </dev/null)"
	same "$(ids --no-stdin $'two\n\none')" "$(printf 'two\n' | ids - one -)"
	mkmodel --chat chat.gguf
	echo '[]' >talk.json
	fails 2 'cannot both be standard input' infer-run -m chat.gguf --messages - -
	fails 2 '-i reads standard input' infer-run -m chat.gguf -i -
}

@test "text that begins with - needs -- before it, and the error says so" {
	fails 2 "'- item' is not an option; put -- before text that begins with -" infer-run --no-stdin '- item'
	fails 2 "'-5 degrees' is not an option; put -- before" infer-run --no-stdin '-5 degrees'
	fails 2 "'-- or not' is not an option; put -- before" infer-run --no-stdin '-- or not'
	fails 2 'unknown option -5; --help' infer-run --no-stdin -5 'x y'
	fails 2 'unknown option -z; --help' infer-run --no-stdin 'a b' -qz 'x y'
	fails 2 "unknown option --promt" infer-run '--promt=x y'
	same "$(printf -- '- item' | ids)" "$(ids --no-stdin -- '- item')"
}

@test "--no-stdin leaves standard input to the loop around it" {
	printf 'the\nof\nand\n' >words
	while read -r w; do
		infer-run -q --no-stdin -n 1 "$w"
	done <words >out
	same 3 "$(wc -l <out)"
}

@test "on a terminal with no text: a usage error, not a wait" {
	fails 2 'no text' infer-run --no-stdin
	if command -v script >/dev/null; then
		run -2 timeout 60 script -qec 'infer-run' /dev/null
		[[ $output == *'no text'* ]]
	fi
}

@test "a missing or unreadable prompt file is an error of running" {
	fails 1 'missing: No such file' infer-run -f missing
	fails 1 'Is a directory' infer-run -f .
}

@test "text that is not UTF-8 is refused with the byte; --raw takes it" {
	fails 2 'not UTF-8 at byte 1' infer-run --no-stdin $'a\xff'
	printf 'ab\xc3' >bad
	fails 2 'bad: not UTF-8 at byte 2' infer-run --no-stdin -f bad
	printf 'ab\xed\xa0\x80' | { run -2 infer-run -q; [[ $output == *'standard input: not UTF-8 at byte 2'* ]]; }
	infer-run -q --raw -n 2 --no-stdin $'a\xff' >/dev/null
	infer-run -q --raw -n 2 --no-stdin -f bad >/dev/null
}

@test "NUL bytes are text like others" {
	printf 'a\0b\0' >nul
	infer-run --no-stdin --tokenize -f nul | infer-run --detokenize | cmp - nul
	infer-run -q -n 2 -f nul --no-stdin >/dev/null
}

@test "an empty prompt begins a text where the model has a token for that, and is refused where not" {
	infer-run -q -m "$SPM" -n 3 </dev/null >out
	same 1 "$(wc -l <out)"
	fails 2 'the prompt is empty' infer-run -q -n 3
	fails 2 'the prompt is empty' infer-run -q -n 3 --no-stdin ''
}

@test "1 MiB: too long for the context is said before a token; its ids come out" {
	yes 'the of and to' | head -c 1048576 >big
	fails 4 'context' infer-run -f big --no-stdin
	infer-run --tokenize --no-stdin -f big | infer-run --detokenize | cmp - <(head -c 1048576 big)
}

@test "input is read no further than the context could ever take" {
	export ASAN_OPTIONS=quarantine_size_mb=0:thread_local_quarantine_size_kb=0
	most=20000000
	[ -z "${SAN:-}" ] || most=100000000
	long='the prompt is longer than 1048576 bytes, more than a context of 512 tokens can hold; the model has no larger context'
	set +o pipefail
	# without an end, to a conversation and to raw text, from a pipe and from a file
	mkmodel --chat chat.gguf
	for more in "-m $M" '-m chat.gguf' "-m $SPM" "-m $M --raw"; do
		rc=0
		# shellcheck disable=SC2086
		yes | infer-run $more >out 2>err || rc=$?
		same 4 "$rc"
		[ ! -s out ]
		same "infer-run: error: standard input: $long" "$(cat err)"
	done
	fails 4 "/dev/zero: $long" infer-run -f /dev/zero
	(
		ulimit -v 400000
		[ -n "${SAN:-}" ] || fails 4 "/dev/zero: $long" infer-run -t 1 the -f /dev/zero
	)
	# what is no prompt has a bound of its own
	fails 4 '/dev/zero: longer than 67108864 bytes' infer-run -m chat.gguf --no-stdin --messages /dev/zero
	fails 4 '/dev/zero: longer than 67108864 bytes' infer-run -m chat.gguf --no-stdin --tools /dev/zero the
	fails 4 '/dev/zero: longer than 67108864 bytes' infer-run -m chat.gguf --no-stdin --template /dev/zero the
	# what gives more room is named
	fails 4 'a context of 40 tokens can hold; -c makes it larger' infer-run -c 40 -f /dev/zero
	# a mebibyte is looked at, for a template may drop most of it; scoring and ids take any length
	yes 'the of' | head -c 1048576 >big
	fails 4 'tokens' infer-run -f big
	yes 'the of' | head -c 1200000 >bigger
	infer-run --tokenize -f bigger --no-stdin | infer-run --detokenize | cmp - bigger
}

@test "closed standard input is an empty one" {
	infer-run -q -n 1 the <&- >out
	same 1 "$(wc -l <out)"
}

@test "--tokenize prints one line; an empty text an empty one" {
	printf '' | ids >out
	cmp out <(echo)
	same 1 "$(ids --no-stdin the of and | wc -l)"
}

@test "--tokenize adds nothing; --bos adds what the model's flags say" {
	a=$(ids -m "$SPM" --no-stdin the)
	b=$(ids -m "$SPM" --bos --no-stdin the)
	same "1 $a" "$b"
	same "$(ids --no-stdin the)" "$(ids --bos --no-stdin the)"
}

@test "--tokenize takes special tokens as text; --special parses them" {
	mkmodel --chat chat.gguf
	n=$(ids -m chat.gguf --no-stdin '<|im_start|>' | wc -w)
	[ "$n" -gt 1 ]
	same 1 "$(ids -m chat.gguf --special --no-stdin '<|im_start|>' | wc -w)"
	id=$(ids -m chat.gguf --special --no-stdin '<|im_start|>')
	[ -z "$(infer-run -m chat.gguf --detokenize --no-stdin "$id")" ]
	same '<|im_start|>' "$(infer-run -m chat.gguf --detokenize --special --no-stdin "$id")"
}

@test "--tokenize and --detokenize are inverse on any text, for both kinds of vocabulary" {
	printf 'Hello, w\xc3\xb6rld!  two  spaces\n\ttab \xe4\xb8\xad\xe6\x96\x87 \xf0\x9f\x98\x80 1234567 (x)' >text
	head -c 20000 /dev/urandom >bytes
	printf '\n' >>bytes           # of which one is dropped
	printf '\n' >>bytes
	for m in "$M" "$SPM"; do
		infer-run -m "$m" --tokenize --no-stdin -f text | infer-run -m "$m" --detokenize | cmp - text
		infer-run -m "$m" --raw --tokenize --no-stdin -f bytes | infer-run -m "$m" --detokenize >back
		cmp back <(head -c -1 bytes)
	done
}

@test "--detokenize takes ids on any white space, records of tokens, and passes over other records" {
	i=$(ids --no-stdin ' the of and')
	same ' the of and' "$(tr ' ' '\n' <<<"$i" | infer-run --detokenize)"
	same ' the of and' "$(infer-inspect tokens --json --no-stdin ' the of and' | infer-run --detokenize)"
	same ' the' "$(printf '{"kind":"other","id":9}\n{"kind":"token","id":%s}\n' "${i%% *}" | infer-run --detokenize)"
}

@test "--detokenize refuses what is no id" {
	fails 2 "'x' is not a token id" infer-run --detokenize --no-stdin 1 x
	fails 2 '99999' infer-run --detokenize --no-stdin 99999
	fails 2 'is not a token id' infer-run --detokenize --no-stdin -- -1
	fails 3 'record' infer-run --detokenize --no-stdin '{"kind":"token"}'
	fails 3 'record' infer-run --detokenize --no-stdin '{"kind":'
}

@test "--tokenize needs the vocabulary alone: an unknown architecture will do" {
	perl -0777pe 's/(general\.architecture.{12})llama/$1lmala/s' "$SPM" >odd.gguf
	same "$(ids -m "$SPM" --no-stdin the of)" "$(ids -m odd.gguf --no-stdin the of)"
	fails 3 'lmala' infer-run -m odd.gguf --no-stdin x
}
