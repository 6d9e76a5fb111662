# infer-run --batch: JSON lines in, JSON lines out, whatever becomes of lines, pipes and processes
load lib

setup_more()
{
	for i in 1 2 3 4 5 6 7 8 9; do
		echo "{\"id\":\"q$i\",\"prompt\":\"the of and $i\",\"max_tokens\":$((i * 3)),\"logprobs\":1}"
	done >ask.jsonl
}

ask() { infer-run -q --ignore-eos --batch "$@"; }
# id, reason and all that is drawn, one line for each record, sorted
drawn()
{
	perl -MJSON::PP -ne '$r = decode_json($_); print JSON::PP->new->canonical->encode([@$r{qw(id finish_reason text tokens logprobs)}]), "\n"' |
		sort
}
codes() { perl -MJSON::PP -ne '$r = decode_json($_); print join(" ", map { $_ // "null" } @$r{qw(line id code param)}), "\n"' | sort -n; }

@test "every request gets one record, with the run that made it" {
	ask "$BATS_FILE_TMPDIR/ask.jsonl" >out 2>err
	[ ! -s err ]
	same 9 "$(wc -l <out)"
	same 1 "$(head -1 out | json v)"
	same null "$(sed -n 2p out | json v)"
	same "$(printf 'q%d\n' 1 2 3 4 5 6 7 8 9)" "$(json id <out | sort)"
	same completion "$(json kind <out | sort -u)"
	same length "$(json finish_reason <out | sort -u)"
	same '3 6 9 12 15 18 21 24 27' "$(json usage.completion_tokens <out | sort -n | xargs)"
	same 9 "$(json run.seed <out | sort -u | wc -l)"
}

@test "what a request gets does not depend on the order, the others, chunks, threads or the way in" {
	ask "$BATS_FILE_TMPDIR/ask.jsonl" | drawn >want
	sort -r "$BATS_FILE_TMPDIR/ask.jsonl" >back.jsonl
	ask back.jsonl | drawn | cmp - want
	ask - <back.jsonl -t 1 --prefill-chunk 1 | drawn | cmp - want
	while read -r one; do echo "$one" | ask - --no-prefix-cache; done <back.jsonl | drawn | cmp - want
	# alone, and as a prompt of its own: the record says how
	seed=$(ask "$BATS_FILE_TMPDIR/ask.jsonl" | grep '"q4"' | json run.seed)
	same "$(json text < <(ask "$BATS_FILE_TMPDIR/ask.jsonl" | grep '"q4"'))" \
		"$(infer-run -q --no-stdin --ignore-eos -n 12 --seed "$seed" the of and 4)"
}

@test "the seed is that of the id and --seed, and a request's own is used as it is" {
	echo '{"id":"x","prompt":"the","max_tokens":0}' >x.jsonl
	a=$(ask x.jsonl | json run.seed)
	same "$a" "$(ask x.jsonl --seed 0 | json run.seed)"
	[ "$a" != "$(ask x.jsonl --seed 1 | json run.seed)" ]
	same "0 -1" "$(printf '{"prompt":"a","max_tokens":0,"seed":%d}\n' 0 -1 | ask - --seed 9 | json run.seed | xargs)"
}

@test "a bad line gets an error that names the field; the others are answered; the code is 7" {
	cat >bad.jsonl <<-'END'
		{"prompt":"the","max_tokens":2}
		{"prompt":
		{"id":[7],"prompt":"the"}
		{"id":"d","prompt":"the","frob":1}
		{"id":"e","prompt":"the","temperature":"hot"}
		{"id":"f","prompt":"the","top_p":1.5}
		{"id":"g"}
		{"id":"h","prompt":[]}
		{"id":"i","messages":[{"role":"user","content":"the"}],"raw":true}
		{"id":"j","prompt":"the","grammar":"root ::= x"}
		{"id":"k","prompt":[1,99999999]}
		[1]

		{"kind":"meta","key":"x"}
		{"id":"o","prompt":"the","samplers":["top_q"]}
		{"kind":"request","v":1,"id":"p","prompt":"the","max_tokens":2,"raw":true,"seed":null}
	END
	rc=0
	ask bad.jsonl >out 2>err || rc=$?
	same 7 "$rc"
	same 'infer-run: error: 12 of 14 requests failed; the record of each says why' "$(cat err)"
	same '1 p' "$(grep -v '"error"' out | json id | sort | xargs)"
	grep '"error"' out | codes >codes
	cat >want <<-'END'
		2 null INFER_EFORMAT null
		3 null INFER_EINVAL id
		4 d INFER_EINVAL frob
		5 e INFER_EINVAL temperature
		6 f INFER_EINVAL top_p
		7 g INFER_EINVAL prompt
		8 h INFER_EINVAL prompt
		9 i INFER_EINVAL messages
		10 j INFER_EEMPTY grammar
		11 k INFER_EINVAL prompt
		12 null INFER_EFORMAT null
		15 o INFER_EINVAL samplers
	END
	diff want codes
}

@test "a line that cannot be read has no id, and takes none from a request" {
	printf '%s\n' '{"id":"0","prompt":"the","max_tokens":1}' '{"id":"1","prompt":"the","max_tokens":1}' '{"id":"2",' \
		'{"id":"3","prompt":"the","max_tokens":1}' '{"id":{},"prompt":"the"}' '{"id":"5","prompt":"the","max_tokens":1}' >from0.jsonl
	for from in from0.jsonl -; do
		rc=0
		# shellcheck disable=SC2002
		cat from0.jsonl | ask $from >out 2>err || rc=$?
		same 7 "$rc"
		same '0 1 3 5' "$(grep completion out | json id | sort | xargs)"
		same '3 null INFER_EFORMAT null 5 null INFER_EINVAL id' "$(grep '"error"' out | codes | xargs)"
	done
	# each is said once
	for _ in 1 2; do
		rc=0
		infer-run --batch from0.jsonl --resume kept0 >out 2>err || rc=$?
		same 7 "$rc"
		same 6 "$(wc -l <kept0)"
	done
	# what is put right is asked, and its error goes
	sed -i '3s/.*/{"id":"2","prompt":"the","max_tokens":1}/; 5d' from0.jsonl
	infer-run --batch from0.jsonl --resume kept0
	same '0 1 2 3 5' "$(json id <kept0 | sort | xargs)"
}

@test "ids that are whole numbers come back as such, in completions, choices and errors, and are known again" {
	printf '{"id":%s,"prompt":"the","max_tokens":1%s}\n' 0 '' 18446744073709551615 ',"n":2' -3 ',"top_k":-5' >whole.jsonl
	rc=0
	infer-run --batch whole.jsonl --resume keptw >out 2>err || rc=$?
	same 7 "$rc"
	for id in 0 18446744073709551615 -3; do
		same 1 "$(grep -c "\"id\":$id,\"" keptw)"
	done
	infer-run --batch whole.jsonl --resume keptw >out 2>err || rc=$?
	same 3 "$(wc -l <keptw)"
	printf '{"id":"%s","prompt":"the"}\n' 0 >>whole.jsonl
	fails 3 "whole.jsonl: line 4: the id '0' occurs twice" infer-run --batch whole.jsonl
}

@test "an id that comes again: refused before anything runs in a file, when seen in a pipe" {
	printf '{"id":"%s","prompt":"the","max_tokens":1}\n' a b a >twice.jsonl
	fails 3 "twice.jsonl: line 3: the id 'a' occurs twice" infer-run --batch twice.jsonl
	fails 3 "standard input: line 3: the id 'a'" bash -c 'exec infer-run --batch - <twice.jsonl'
	rc=0
	# shellcheck disable=SC2002
	cat twice.jsonl | ask - >out 2>err || rc=$?
	same 7 "$rc"
	same 'a b' "$(grep completion out | json id | sort | xargs)"
	same '3 null INFER_EINVAL id' "$(grep '"error"' out | codes)"
	# the same pipe again adds nothing
	for _ in 1 2; do
		rc=0
		# shellcheck disable=SC2002
		cat twice.jsonl | infer-run --batch - --resume kept >out 2>err || rc=$?
		same 7 "$rc"
		same 3 "$(wc -l <kept)"
	done
}

@test "a byte order mark before the first line and CRLF belong to no request" {
	printf '{"id":"%s","prompt":"the","max_tokens":1}\n' a b >unix.jsonl
	{ printf '\xef\xbb\xbf'; sed 's/$/\r/' unix.jsonl; printf '\r\n'; } >dos.jsonl
	ask unix.jsonl --ordered | json request_sha256 >want
	same 2 "$(wc -l <want)"
	ask dos.jsonl --ordered | json request_sha256 | cmp - want
	# shellcheck disable=SC2002
	cat dos.jsonl | ask - --ordered | json request_sha256 | cmp - want
	# the same requests: nothing is done twice
	ask unix.jsonl --resume kept
	before=$(cksum <kept)
	ask dos.jsonl --resume kept
	same "$before" "$(cksum <kept)"
}

@test "samples of one prompt: their own seeds, and the prompt computed once" {
	words=$(yes the of and take | head -100 | xargs)
	echo "{\"id\":\"s\",\"prompt\":\"$words\",\"max_tokens\":8,\"n\":6}" >s.jsonl
	ask s.jsonl --stats >out 2>stats
	same 6 "$(json 'choices.#' <out)"
	same '0 1 2 3 4 5' "$(for i in 0 1 2 3 4 5; do json "choices.$i.index" <out; done | xargs)"
	prompt=$(json usage.prompt_tokens <out)
	same 48 "$(json usage.completion_tokens <out)"
	# all but at most a page of 32 comes from the cache, and no more than the rest is computed
	computed=$prompt
	for i in 1 2 3 4 5; do
		cached=$(json "choices.$i.usage.cached_tokens" <out)
		[ "$cached" -ge $((prompt - 32)) ]
		computed=$((computed + prompt - cached))
	done
	same $computed "$(json prefill_rows <stats)"
	for i in 0 3; do
		same "$(json "choices.$i.text" <out)" \
			"$(infer-run -q --no-stdin --ignore-eos -n 8 --seed "$(json "choices.$i.seed" <out)" "$words")"
	done
}

@test "the OpenAI form is answered in its own" {
	body='"prompt":"the of","max_tokens":3,"temperature":0,"logprobs":2,"model":"any","n":2'
	echo "{\"custom_id\":\"r\",\"method\":\"POST\",\"url\":\"/v1/completions\",\"body\":{$body}}" >o.jsonl
	echo '{"custom_id":"c","method":"POST","url":"/v1/chat/completions","body":{"messages":[]}}' >>o.jsonl
	rc=0
	ask o.jsonl >out 2>err || rc=$?
	same 7 "$rc"
	grep '"r"' out >ok
	same '200 text_completion 2 null' "$(for p in response.status_code response.body.object response.body.choices.# error; do json $p <ok; done | xargs)"
	same "$(infer-run -q --no-stdin --ignore-eos --temp 0 -n 3 the of)" "$(json response.body.choices.1.text <ok)"
	same 3 "$(json response.body.choices.0.logprobs.tokens.# <ok)"
	same "$(json response.body.choices.0.text <ok)" "$(json response.body.choices.0.logprobs.tokens <ok | perl -MJSON::PP -e 'print @{decode_json(<STDIN>)}')"
	same '400 invalid_request_error messages' "$(grep '"c"' out | { read -r l; for p in status_code body.error.type body.error.param; do echo "$l" | json response.$p; done; } | xargs)"
	same null "$(json kind <ok)"
}

@test "options stand where a request leaves something open" {
	printf '%s\n' '{"id":"a","prompt":"the"}' '{"id":"b","prompt":"the","max_tokens":2,"top_k":3,"logprobs":0}' >d.jsonl
	ask d.jsonl -n 4 --top-k 7 --logprobs 2 >out
	same '4 7 2' "$(grep '"a"' out | { read -r l; for p in usage.completion_tokens run.sampler.top_k top.0.#; do echo "$l" | json $p; done; } | xargs)"
	same '2 3 2 null' "$(grep '"b"' out | { read -r l; for p in usage.completion_tokens run.sampler.top_k logprobs.# top; do echo "$l" | json $p; done; } | xargs)"
	rc=0
	ask d.jsonl -n 4 --fail-on-length >out || rc=$?
	same 6 "$rc"
}

@test "--resume: a torn last line is cut off, what is done is left out, standard output stays empty" {
	ask "$BATS_FILE_TMPDIR/ask.jsonl" | drawn >want
	ask "$BATS_FILE_TMPDIR/ask.jsonl" --resume kept >out
	[ ! -s out ]
	drawn <kept | cmp - want
	before=$(head -4 kept | cksum)
	head -c $(($(head -5 kept | wc -c) - 9)) kept >torn
	ask "$BATS_FILE_TMPDIR/ask.jsonl" --resume torn
	same "$before" "$(head -4 torn | cksum)"
	same 1 "$(json v <torn | grep -c 1)"
	drawn <torn | cmp - want
	cp torn done
	ask "$BATS_FILE_TMPDIR/ask.jsonl" --resume torn
	cmp torn done
}

@test "--resume says how many are there already, to people: with -v, or on a terminal" {
	head -4 "$BATS_FILE_TMPDIR/ask.jsonl" >four.jsonl
	ask four.jsonl --resume out
	cp out again
	cp out piped
	infer-run -v --ignore-eos --batch "$BATS_FILE_TMPDIR/ask.jsonl" --resume out 2>err
	grep -qx 'infer-run: 4 of 9 are already answered' err
	infer-run --ignore-eos --batch "$BATS_FILE_TMPDIR/ask.jsonl" --resume out 2>err
	[ ! -s err ]
	# of a request that is another now there is none
	sed '2s/the of and/take out/' "$BATS_FILE_TMPDIR/ask.jsonl" >other.jsonl
	infer-run -v --ignore-eos --batch other.jsonl --resume out 2>err
	grep -qx 'infer-run: 8 of 9 are already answered' err
	# how many a pipe will have, nobody knows
	infer-run -v --ignore-eos --batch - --resume piped 2>err < <(cat four.jsonl)
	grep -qx 'infer-run: 4 are already answered' err
	if command -v script >/dev/null; then
		script -qec "infer-run --ignore-eos --batch $BATS_FILE_TMPDIR/ask.jsonl --resume again" /dev/null >seen </dev/null
		grep -q '4 of 9 are already answered' seen
		script -qec "infer-run -q --ignore-eos --batch $BATS_FILE_TMPDIR/ask.jsonl --resume again" /dev/null >seen </dev/null
		! grep -q 'already' seen
	fi
}

@test "each record is one write, and they reach the disk" {
	command -v strace >/dev/null || skip "needs strace (package strace)"
	strace -f -e trace=write,fdatasync -o trace infer-run -q --batch "$BATS_FILE_TMPDIR/ask.jsonl" --ignore-eos --resume kept || skip "needs the right to trace processes, which this machine withholds"
	same 9 "$(grep -c 'write(.*kind' trace)"
	grep -q 'fdatasync(.*= 0' trace
}

@test "--resume refuses the file that --batch reads, by whatever name" {
	cp "$BATS_FILE_TMPDIR/ask.jsonl" q
	ln q hard
	ln -s q soft
	before=$(cksum <q)
	for name in q ./q hard soft; do
		fails 2 "--resume $name is the file that --batch reads" infer-run --batch q --resume $name
	done
	fails 2 '--resume q is the file' bash -c 'exec infer-run --batch - --resume q <q'
	same "$before" "$(cksum <q)"
}

@test "--resume: a text without a line end is no record that was torn" {
	printf 'my notes' >notes
	fails 3 'notes: line 1 is not a record' infer-run --batch "$BATS_FILE_TMPDIR/ask.jsonl" --resume notes
	same 'my notes' "$(cat notes)"
}

@test "--resume: an OUT that another removes or cuts ends the run" {
	for harm in 'rm out' 'truncate -s 100 out' 'truncate -s 0 out'; do
		rm -f in out
		mkfifo in
		infer-run -q --batch - --resume out <in 2>err &
		exec 7>in
		head -4 "$BATS_FILE_TMPDIR/ask.jsonl" >&7
		for _ in {1..200}; do
			[ "$(wc -l <out 2>/dev/null || echo 0)" != 4 ] || break
			sleep 0.05
		done
		same 4 "$(wc -l <out)"
		$harm
		sed 1,4d "$BATS_FILE_TMPDIR/ask.jsonl" >&7 || true
		exec 7>&-
		rc=0
		wait $! || rc=$?
		same 1 "$rc"
		same 1 "$(wc -l <err)"
		grep -qE '^infer-run: error: out: was (removed|cut short) while records were written' err
	done
}

@test "--resume: a line that was cut in its middle, or never reached the disk, is done again, and the others stay" {
	ask "$BATS_FILE_TMPDIR/ask.jsonl" --resume whole
	drawn <whole >want
	# half of the third line glued to the fourth; half of a page of nothing before the seventh; a blank line; a torn end
	{
		head -2 whole
		sed -n 3p whole | head -c 300
		sed -n '4,6p' whole
		head -c 2048 /dev/zero
		sed -n '7,8p' whole
		echo
		printf '{'
	} >out
	chmod 640 out
	ln -s out link
	ask "$BATS_FILE_TMPDIR/ask.jsonl" --resume link 2>err
	grep . out | drawn | cmp - want
	same 640 "$(stat -c %a out)"
	[ -L link ]
	same 'link out' "$(find . -name 'link*' -o -name 'out*' | sed 's,./,,' | sort | xargs)"
	same "$(head -2 whole)" "$(head -2 out)"
	# nothing but halves
	{ sed -n 3p whole | head -c 300; sed -n 1p whole; } >half
	ask "$BATS_FILE_TMPDIR/ask.jsonl" --resume half
	drawn <half | cmp - want
}

@test "--resume: records of another model or of other options are refused, and --mix goes on" {
	head -3 "$BATS_FILE_TMPDIR/ask.jsonl" >three.jsonl
	ask three.jsonl --resume kept
	mkmodel --layers 1 other.gguf
	mkmodel --seed 2 tuned.gguf # of the same shape
	before=$(cksum <kept)
	for m in other.gguf tuned.gguf; do
		fails 2 "kept: the record of 'q[123]' was made with another model; --mix continues anyway" \
			infer-run --ignore-eos -m $m --batch "$BATS_FILE_TMPDIR/ask.jsonl" --resume kept
	done
	for more in '--temp 0' '--seed 5' '--stop of' '-n 7' '--kv-type f32' '--raw' '--logprobs 2'; do
		# shellcheck disable=SC2086
		fails 2 'was made with other options; --mix' infer-run --ignore-eos --batch "$BATS_FILE_TMPDIR/ask.jsonl" --resume kept $more
	done
	fails 2 'was made with other options' infer-run --batch "$BATS_FILE_TMPDIR/ask.jsonl" --resume kept
	same "$before" "$(cksum <kept)"
	mkmodel --type f16 half.gguf
	infer-run -q --ignore-eos -m half.gguf --batch three.jsonl --resume rounded --act-type bf16
	fails 2 'was made with other options' infer-run --ignore-eos -m half.gguf --batch three.jsonl --resume rounded
	infer-run -q --ignore-eos -m half.gguf --batch three.jsonl --resume rounded --act-type bf16
	same 3 "$(wc -l <rounded)"
	# what does not change answers is no other option
	ask "$BATS_FILE_TMPDIR/ask.jsonl" --resume kept -t 1 --prefill-chunk 3 --no-prefix-cache
	same 9 "$(wc -l <kept)"
	ask three.jsonl --resume mixed
	infer-run -q --ignore-eos --temp 0 --mix --batch "$BATS_FILE_TMPDIR/ask.jsonl" --resume mixed
	same 9 "$(wc -l <mixed)"
	same 2 "$(json run.options_sha256 <mixed | sort -u | wc -l)"
	fails 2 '--mix goes with --resume only' infer-run --batch three.jsonl --mix
	fails 2 '--retry-errors goes with --resume only' infer-run --retry-errors the
}

# the id that older versions wrote: the sha256 of the header and the size
older_id() # MODEL
{
	local header
	header=$(infer-inspect --json "$1" | head -n 1 | json header_bytes)
	perl -MDigest::SHA -e 'local $/; open my $in, "<:raw", $ARGV[0] or die; my $s = <$in>;
		print Digest::SHA::sha256_hex(substr($s, 0, $ARGV[1]), pack("Q<", length $s))' "$1" "$header"
}

@test "--resume: records of older versions are compared by the header and the size, which is what they hold" {
	head -3 "$BATS_FILE_TMPDIR/ask.jsonl" >three.jsonl
	ask three.jsonl --resume new
	id=$(head -n 1 new | json run.model.id)
	sed "s/$id/$(older_id "$M")/" new >old
	[ "$(grep -c "$(older_id "$M")" old)" = 3 ]
	before=$(cksum <old)
	ask three.jsonl --resume old
	same "$before" "$(cksum <old)"
	mkmodel --layers 1 other.gguf
	fails 2 'was made with another model' infer-run --ignore-eos -m other.gguf --batch "$BATS_FILE_TMPDIR/ask.jsonl" --resume old
	ask "$BATS_FILE_TMPDIR/ask.jsonl" --resume old
	same 9 "$(wc -l <old)"
	same "$id" "$(tail -n 1 old | json run.model.id)"
}

@test "--resume: a request that is another now is run again, and its old record goes" {
	head -3 "$BATS_FILE_TMPDIR/ask.jsonl" >a.jsonl
	sed '2s/the of and/take out/' a.jsonl >b.jsonl
	ask a.jsonl --resume out
	same "$(sed -n 2p a.jsonl | tr -d '\n' | sha256sum | cut -d' ' -f1)" "$(grep '"q2"' out | json request_sha256)"
	ask b.jsonl --resume out
	same 3 "$(wc -l <out)"
	ask b.jsonl | drawn >want
	drawn <out | cmp - want
	# a pipe cannot be read before: the record is added
	# shellcheck disable=SC2002
	cat a.jsonl | ask - --resume out
	same 4 "$(wc -l <out)"
	same "$(ask a.jsonl | drawn | grep q2)" "$(tail -1 out | drawn)"
	# OpenAI's form
	echo '{"custom_id":"r","method":"POST","url":"/v1/completions","body":{"prompt":"the of","max_tokens":3}}' >o.jsonl
	ask o.jsonl --resume kept
	sed -i 's/the of/take/' o.jsonl
	ask o.jsonl --resume kept
	same 1 "$(wc -l <kept)"
	same "$(tr -d '\n' <o.jsonl | sha256sum | cut -d' ' -f1)" "$(json response.body.request_sha256 <kept)"
}

@test "--retry-errors: what failed is run again, and what was said of it goes" {
	cat >q.jsonl <<-'END'
		{"id":"a","prompt":"the","max_tokens":2}
		{"id":"b","prompt":"the","frob":1}
		{"custom_id":"c","method":"POST","url":"/v1/completions","body":{"prompt":"of","frob":1}}
	END
	for more in '' '' --retry-errors; do
		rc=0
		# shellcheck disable=SC2086
		ask q.jsonl --resume out $more 2>err || rc=$?
		same 7 "$rc"
		same 'infer-run: error: 2 of 3 requests failed; the record of each says why' "$(cat err)"
		same 3 "$(wc -l <out)"
		same 1 "$(grep -c '"id":"a"' out)"
	done
	# a request that is mended is another one, with or without it
	sed -i 's/frob/max_tokens/' q.jsonl
	ask q.jsonl --resume out
	same 3 "$(wc -l <out)"
	same 0 "$(grep -c 'error":{\|"kind":"error"' out)"
}

@test "a prompt that is longer than the context is the request's fault in OpenAI's form, too" {
	words=$(yes the | head -600 | xargs)
	echo "{\"custom_id\":\"c\",\"method\":\"POST\",\"url\":\"/v1/completions\",\"body\":{\"prompt\":\"$words\"}}" >long.jsonl
	rc=0
	ask long.jsonl >out 2>err || rc=$?
	same 7 "$rc"
	same '400 context_length_exceeded' "$(for p in status_code body.error.code; do json response.$p <out; done | xargs)"
}

@test "--resume refuses what is no file of records, and what another process writes" {
	echo 'my notes' >notes
	fails 3 'notes: line 1 is not a record' infer-run --batch "$BATS_FILE_TMPDIR/ask.jsonl" --resume notes
	same 'my notes' "$(cat notes)"
	fails 1 '/dev/null: not a regular file' infer-run --batch "$BATS_FILE_TMPDIR/ask.jsonl" --resume /dev/null
	mkfifo pipe
	infer-run --batch - --resume kept <pipe &
	exec 7>pipe
	for _ in {1..400}; do
		[ ! -e kept ] || ! grep -q ":$(stat -c %i kept) " /proc/locks || break
		sleep 0.05
	done
	fails 1 'kept: another process is writing it' infer-run --batch "$BATS_FILE_TMPDIR/ask.jsonl" --resume kept
	exec 7>&-
	wait
}

@test "a batch that is killed and resumed gives what it gives undisturbed" {
	# LONG=1: as often as it is promised for
	if [ "${LONG:-0}" = 1 ]; then
		"$TOP/scripts/kill-batch" 2000 30
	else
		"$TOP/scripts/kill-batch" 400 5
	fi
}

@test "answers come while the pipe is open" {
	mkfifo in out
	infer-run -q --batch - <in >out &
	exec 7>in 8<out
	for i in 1 2 3; do
		echo "{\"id\":\"$i\",\"prompt\":\"the\",\"max_tokens\":2}" >&7
		read -r -t 20 line <&8
		same $i "$(json id <<<"$line")"
	done
	exec 7>&- 8<&-
	wait
}

@test "an endless pipe works in bounded memory" {
	# the address sanitizer keeps what was freed, up to 256 MB of it, unless told not to
	export ASAN_OPTIONS=quarantine_size_mb=0:thread_local_quarantine_size_kb=0
	ask_many() {
		perl -e 'print qq({"prompt":"the of","max_tokens":1}\n) x shift' "$1" | ask - --stats 2>stats >out
		same "$1" "$(wc -l <out)"
		json peak_rss_bytes <stats
	}
	few=$(ask_many 500)
	many=$(ask_many 8000)
	# of these, 16 bytes an id are kept; a request that was, and its answer, would be kilobytes
	# a sanitizer keeps up to half a kilobyte of its own for each
	most=3000000
	[ -z "${SAN:-}" ] || most=6000000
	[ "$((many - few))" -lt "$most" ] || { echo "$few $many"; return 1; }
	# and without an end: it ends with the reader
	set +o pipefail
	yes '{"prompt":"the","max_tokens":1}' | ask - | head -300 | json id | tail -1 >last
	[ -s last ]
}

@test "a line of 65 MB is refused in bounded memory, and the next one is read" {
	{ head -c 68157440 /dev/zero | tr '\0' x; echo; echo '{"id":"z","prompt":"the","max_tokens":1}'; } >long.jsonl
	rc=0
	ask long.jsonl >out 2>err || rc=$?
	same 7 "$rc"
	same '1 null INFER_EINVAL null' "$(grep '"error"' out | codes)"
	same z "$(grep completion out | json id)"
}

@test "batches side by side under xargs" {
	ask "$BATS_FILE_TMPDIR/ask.jsonl" | drawn >want
	split -l 3 "$BATS_FILE_TMPDIR/ask.jsonl" part.
	printf '%s\n' part.?? | xargs -P3 -I{} infer-run -q --ignore-eos --batch {} --resume {}.out
	cat part.??.out | drawn | cmp - want
}

@test "what does not go with --batch is refused" {
	fails 2 '--batch reads its prompts from the file' infer-run --batch x the
	fails 2 '--file does not go with --batch' infer-run --batch x -f y
	fails 2 '-o text does not go with --batch' infer-run --batch x -o text
	fails 2 '--resume goes with --batch only' infer-run --resume x the
	fails 2 'exclude each other' infer-run --batch x --score
	fails 2 '--echo does not go with --batch' infer-run --batch x --echo
	fails 1 'nowhere.jsonl: No such file' infer-run --batch nowhere.jsonl
	unset INFER_MODEL
	fails 2 'no model: name one' infer-run --batch x
	echo '{"prompt":"Once upon a time","max_tokens":3}' | infer-run -m demo --batch - | json usage.completion_tokens | grep -qx 3
}

@test "a file that is an array is refused before anything runs" {
	for text in '[{"prompt":"the"}]' '[\n{"prompt":"the"},\n{"prompt":"the"}\n]\n' '\n \t[ {"prompt":"the"},\n{"prompt":"the"} ]\n' '\xef\xbb\xbf[\n]\n' '[]'; do
		printf "$text" >in
		line=$(grep -n '\[' in | head -n 1 | cut -d: -f1)
		fails 3 "in: line $line: requests must be objects, one per line, not an array; jq -c '.\[\]' writes an array as lines" \
			infer-run --batch in -n 1
	done
	fails 3 'in: line 1: requests must be objects' infer-run --batch in --resume out -n 1
	[ ! -s out ]
}

@test "an array among the lines is said to be one; columns are of the line" {
	rc=0
	printf '{"prompt":"the"}\n[{"prompt":"the"},\n{"id":"a","prompt":"the"},\n' | infer-run -q --ordered --batch - -n 1 >out 2>err || rc=$?
	same 7 "$rc"
	same "request: an array begins here; requests are objects, one a line: jq -c '.[]' makes lines of an array" \
		"$(sed -n 2p out | json message)"
	same 'request: column 26: more text after the value' "$(sed -n 3p out | json message)"
	same 3 "$(sed -n 3p out | json line)"
}
