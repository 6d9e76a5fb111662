# infer-run --lines and --ordered: a prompt a line, and answers in the order of their questions
load lib

setup_more()
{
	mkmodel --chat chat.gguf
	perl -e '@w = qw(the of and to in that is was he for); srand 5;
		for (1 .. 100) { print join(" ", map { $w[rand @w] } 0 .. rand 12), "\n" }' >many
}

lines() { infer-run -q --ignore-eos -n 6 --lines "$@"; }

@test "each line is a prompt, each answer a line, in order, whatever the chunks and threads" {
	head -40 "$BATS_FILE_TMPDIR/many" >in
	lines --temp 0 <in >out
	same 40 "$(wc -l <out)"
	while IFS= read -r prompt; do infer-run -q --no-stdin --ignore-eos -n 6 --temp 0 "$prompt"; done <in >want
	cmp out want
	lines --temp 0 -t 1 --prefill-chunk 1 <in | cmp - want
	lines --temp 0 -f in </dev/null | cmp - want
}

@test "100 lines are what the same prompts are one by one, with the seeds of their records" {
	lines -o jsonl <"$BATS_FILE_TMPDIR/many" >records
	same "$(seq 100)" "$(json id <records)"
	same 100 "$(json run.seed <records | sort -u | wc -l)"
	lines <"$BATS_FILE_TMPDIR/many" >out
	json run.seed <records >seeds
	paste seeds "$BATS_FILE_TMPDIR/many" | while IFS=$'\t' read -r seed prompt; do
		infer-run -q --no-stdin --ignore-eos -n 6 --seed "$seed" "$prompt"
	done >want
	cmp out want
	# the seed is that of a batch: of the number of the line, and --seed
	awk '{ printf "{\"prompt\":\"%s\"}\n", $0 }' "$BATS_FILE_TMPDIR/many" | infer-run -q --ignore-eos -n 6 --ordered --batch - >batch
	same "$(cat seeds)" "$(json run.seed <batch)"
	same "$(json text <records | cksum)" "$(json text <batch | cksum)"
	lines --seed 0 <"$BATS_FILE_TMPDIR/many" | cmp - out
	[ "$(lines --seed 1 <"$BATS_FILE_TMPDIR/many" | cksum)" != "$(cksum <out)" ]
}

@test "a newline, a carriage return and a backslash of an answer are written so that it stays one line" {
	# nearly every token is as likely as any other, and some are such bytes, or do not become UTF-8
	wild() { head -60 "$BATS_FILE_TMPDIR/many" | lines -n 60 --top-k 0 --top-p 1 --min-p 0 --temp 99 "$@"; }
	wild >out
	same 60 "$(wc -l <out)"
	! grep -q $'\r' out
	wild -o jsonl >records
	perl -MJSON::PP -CO -ne '$t = decode_json($_)->{text}; $t =~ s/\\/\\\\/g; $t =~ s/\n/\\n/g; $t =~ s/\r/\\r/g; print "$t\n"' <records >want
	cmp out want
	for c in '\\\\' '\\n' '\\r'; do grep -q "$c" out; done
	grep -q $'\xef\xbf\xbd' out
	# printf %b gives the answer back
	line=$(perl -ne 'print "$.\n" if /\\n/ && !/\0/' out | head -1)
	printf '%b\n' "$(sed -n "${line}p" out)" >one
	sed -n "${line}p" records | perl -MJSON::PP -CO -ne 'print decode_json($_)->{text}, "\n"' | cmp - one
}

@test "a byte order mark, CRLF and a last line without an end belong to no prompt; -0 takes parts as they are" {
	printf '\xef\xbb\xbfthe of\r\nand to\r\nin' >dos
	printf 'the of\nand to\nin\n' >unix
	lines -o jsonl <dos | json request_sha256 >a
	lines -o jsonl <unix | json request_sha256 | cmp - a
	same "$(printf 'the of' | sha256sum | cut -d' ' -f1)" "$(head -1 a)"
	lines <dos >out
	lines <unix | cmp - out
	printf 'the\nof\0\xef\xbb\xbfand\r\0in' >parts
	infer-run -q -0 -n 2 -o jsonl <parts | json request_sha256 >a
	{ printf 'the\nof' | sha256sum; printf '\xef\xbb\xbfand\r' | sha256sum; printf in | sha256sum; } | cut -d' ' -f1 | cmp - a
	infer-run -q --null --lines -n 2 <parts >b
	same 3 "$(wc -l <b)"
}

@test "-f FILE, one behind the other, and standard input only where it is named" {
	printf 'the\nof' >a
	printf '\xef\xbb\xbfand\n' >b
	echo to >c
	printf 'the\nof\nand\nto\n' | lines >want
	echo nobody | lines -f a -f b -f c | cmp - want
	lines -f a -f b -f - <c | cmp - want
	lines - <want >out
	lines <want | cmp - out
	fails 1 'nowhere: No such file' infer-run --lines -f a -f nowhere
	fails 2 'nothing to read' infer-run --lines --no-stdin
	lines --no-stdin -f a >out
	same 2 "$(wc -l <out)"
	: >empty
	lines -f empty >out
	[ ! -s out ]
}

@test "a line that fails leaves its place empty, says why under its number, and the code is 7" {
	{ echo the; echo; printf 'b\xff\n'; yes the | head -5000 | xargs; echo of; } >in
	for from in in -; do
		rc=0
		infer-run -q -n 2 --lines -f $from <in >out 2>err || rc=$?
		same 7 "$rc"
		same 5 "$(wc -l <out)"
		same '2 3 4' "$(grep -n '^$' out | cut -d: -f1 | xargs)"
		same 4 "$(wc -l <err)"
		sed -n 1p err | grep -qx 'infer-run: error: line 2: the prompt is empty'
		sed -n 2p err | grep -qx 'infer-run: error: line 3: the prompt is not UTF-8 at byte 1'
		sed -n 3p err | grep -q '^infer-run: error: line 4: .*context'
		sed -n 4p err | grep -qx 'infer-run: error: 3 of 5 lines failed'
	done
	rc=0
	infer-run -q -n 2 -o jsonl --lines <in >out 2>err || rc=$?
	same 7 "$rc"
	same '1 2 3 4 5' "$(json id <out | xargs)"
	same 'completion error error error completion' "$(json kind <out | xargs)"
	same 'null 2 3 4 null' "$(json line <out | xargs)"
	# where the text is no conversation, any bytes are text with --raw
	printf 'b\xff\n' | infer-run -q -n 2 --raw --lines >out
	same 1 "$(wc -l <out)"
}

@test "a line that no context could take is refused in bounded memory, and the next one is answered" {
	export ASAN_OPTIONS=quarantine_size_mb=0:thread_local_quarantine_size_kb=0
	rc=0
	{ echo the; head -c 200000000 /dev/zero | tr '\0' x; echo; echo of; } | lines --stats >out 2>err || rc=$?
	same 7 "$rc"
	same '2' "$(grep -n '^$' out | cut -d: -f1)"
	same 3 "$(wc -l <out)"
	grep -q 'error: line 2: longer than 1048576 bytes, more than a context of 512 tokens can hold' err
	most=20000000
	[ -z "${SAN:-}" ] || most=100000000
	peak=$(grep '"stats"' err | json peak_rss_bytes)
	[ "$peak" -lt $most ] || { echo "$peak"; return 1; }
}

@test "answers of lines come while the pipe is open, and an endless one works in bounded memory" {
	mkfifo in answers
	infer-run -q -n 2 --lines <in >answers &
	exec 7>in 8<answers
	for i in 1 2 3; do
		echo the >&7
		read -r -t 20 line <&8
	done
	exec 7>&- 8<&-
	wait
	export ASAN_OPTIONS=quarantine_size_mb=0:thread_local_quarantine_size_kb=0
	ask_many() {
		yes 'the of' | head -n "$1" | infer-run -q -n 1 --lines --stats 2>stats >out
		same "$1" "$(wc -l <out)"
		json peak_rss_bytes <stats
	}
	few=$(ask_many 500)
	many=$(ask_many 8000)
	most=1000000
	[ -z "${SAN:-}" ] || most=6000000
	[ "$((many - few))" -lt "$most" ] || { echo "$few $many"; return 1; }
	set +o pipefail
	yes the | infer-run -q -n 1 --lines | head -300 >out
	same 300 "$(wc -l <out)"
}

@test "a conversation for each line: template, --system and the ends of turns" {
	C=$BATS_FILE_TMPDIR/chat.gguf
	printf 'the\nof and\n' >in
	infer-run -q -m $C --system 'to in' -n 5 --temp 0 --lines <in >out
	for p in the 'of and'; do infer-run -q -m $C --system 'to in' -n 5 --temp 0 --no-stdin "$p"; done | cmp - out
	same 2 "$(wc -l <out)"
	[ "$(infer-run -q -m $C -n 5 --temp 0 --raw --lines <in | cksum)" != "$(cksum <out)" ]
	fails 2 '--special goes with --raw' infer-run -m $C --special --lines
}

@test "--lines answers with the built-in model where none is named, but not with records" {
	unset INFER_MODEL
	echo 'What is a token?' | infer-run --lines --temp 0 -n 3 >out 2>err
	same 'A token is' "$(cat out)"
	grep -q 'built-in model' err
	fails 2 'no model: name one' infer-run --lines -o jsonl
}

@test "an answer that the context cuts is said once, for all of them" {
	printf 'the\nof\n' | infer-run --ignore-eos -c 40 --lines >out 2>err
	same 'infer-run: warning: the context was full for 2 answers, the first that of line 1: they are cut' "$(cat err)"
	rc=0
	printf 'the\nof\n' | lines --fail-on-length >out 2>err || rc=$?
	same 6 "$rc"
	[ ! -s err ]
}

@test "what does not go with --lines is refused by name" {
	fails 2 '--lines reads its prompts from standard input and -f' infer-run --lines the
	fails 2 '--lines reads its prompts from' infer-run -0 - the
	fails 2 '--batch and --lines exclude each other' infer-run --lines --batch x
	fails 2 '--lines and --score exclude each other' infer-run --lines --score
	fails 2 '--null and --render exclude each other' infer-run -0 --render
	fails 2 '--lines and --tokenize exclude each other' infer-run --lines --tokenize
	fails 2 '-i and --lines exclude each other' infer-run --lines -i
	fails 2 '--messages does not go with --lines' infer-run --lines --messages x
	fails 2 '-o tokens does not go with --lines' infer-run --lines -o tokens
	fails 2 '--echo does not go with --lines' infer-run --lines --echo
	fails 2 '--repeat does not go with --lines' infer-run --lines --repeat 1
	fails 2 '--logprobs goes with -o jsonl, -o tokens or --batch only' infer-run --lines --logprobs 1
	fails 2 '--resume goes with --batch only' infer-run --lines --resume x
	fails 2 '--lines and --tools cannot both be standard input' infer-run --lines --tools -
	fails 2 '--ordered goes with --batch, --lines or --null only' infer-run --ordered the
}

@test "--ordered: records in the order of the requests, also behind a first one that takes long" {
	{
		echo '{"id":"slow","prompt":"the","max_tokens":450}'
		for i in $(seq 200); do echo "{\"id\":\"q$i\",\"prompt\":\"of $i\",\"max_tokens\":$((i % 5))}"; done
		echo '{"id":"slow too","prompt":"the","max_tokens":300,"n":2}'
		for i in $(seq 201 300); do echo "{\"id\":\"q$i\",\"prompt\":\"of $i\",\"frob\":$((i % 5))}"; done
	} >ask.jsonl
	rc=0
	infer-run -q --ignore-eos --batch ask.jsonl >any 2>err || rc=$?
	same 7 "$rc"
	rc=0
	infer-run -q --ignore-eos --ordered --batch ask.jsonl >out 2>err || rc=$?
	same 7 "$rc"
	[ "$(head -1 any | json id)" != slow ]
	same "$(json id <ask.jsonl)" "$(json id <out)"
	same 1 "$(head -1 out | json v)"
	same null "$(sed -n 2p any | json v)"
	strip() { sed 's/"v":1,//; s/"created":[0-9]*,//; s/"timings":{[^}]*}//g; s/"load_ms":[^,]*,//; s/"cached_tokens":[0-9]*//g' | sort; }
	strip <any >a
	strip <out | cmp - a
	# from a pipe, and into a file that goes on
	rc=0
	# shellcheck disable=SC2002
	cat ask.jsonl | infer-run -q --ignore-eos --ordered --batch - 2>err | strip | cmp - a
	head -50 ask.jsonl >part.jsonl
	infer-run -q --ignore-eos --ordered --batch part.jsonl --resume kept
	infer-run -q --ignore-eos --ordered --batch ask.jsonl --resume kept 2>err || true
	same "$(json id <ask.jsonl)" "$(json id <kept)"
}

@test "--ordered: a first request that takes long stops the reading, not the run" {
	# more than the window holds wait behind it
	{
		echo '{"id":"0","prompt":"the","max_tokens":480}'
		perl -e 'print qq({"prompt":"of","max_tokens":0}\n) x 3000'
	} >ask.jsonl
	infer-run -q --ignore-eos --ordered --batch - <ask.jsonl >out
	same "$(seq 2 3001)" "$(sed 1d out | json id)"
	# and where nobody writes more, what has come goes out
	mkfifo in
	infer-run -q --ignore-eos --ordered --batch - <in >out &
	exec 7>in
	head -1500 ask.jsonl >&7
	for _ in {1..400}; do
		[ "$(wc -l <out)" != 1500 ] || break
		sleep 0.05
	done
	same 1500 "$(wc -l <out)"
	exec 7>&-
	wait
}

@test "--with-request: a line is asked again as a request" {
	head -5 "$BATS_FILE_TMPDIR/many" | lines -o jsonl --with-request >records
	perl -MJSON::PP -ne 'print JSON::PP->new->canonical->encode(decode_json($_)->{request}), "\n"' <records >again
	json text <records >want
	infer-run -q --ordered --ignore-eos --batch again | json text | cmp - want
	fails 2 '--with-request goes with -o jsonl or --batch only' infer-run --lines --with-request
}
