# infer-run: continuing, scoring, records, sameness
load lib

go() { infer-run -q --no-stdin --temp 0 "$@"; }
score() { infer-run -q --no-stdin --score "$@"; }

@test "standard output is the text and exactly one newline; standard error is empty" {
	infer-run --no-stdin -n 8 the of >out 2>err
	[ ! -s err ]
	same 1 "$(wc -l <out)"
	[ "$(tail -c1 out | od -An -c | tr -d ' ')" = '\n' ]
	[ "$(wc -c <out)" -gt 8 ]
}

@test "-n N produces N tokens; -n 0 none" {
	same 5 "$(go --ignore-eos -n 5 -o tokens the | wc -l)"
	same 5 "$(go --ignore-eos -n 5 --json the | json usage.completion_tokens)"
	go -n 0 the | cmp - <(echo)
}

@test "the text streams: the first words are there while the rest is computed" {
	slow_model slow.gguf --layers 4 --embd 256
	mkfifo pipe
	infer-run -q -m slow.gguf --no-stdin --ignore-eos --temp 0 the >pipe &
	pid=$!
	head -c 16 <pipe >first
	wait $pid || rc=$?
	same 16 "$(wc -c <first)"
	same 141 "$rc"
}

# descriptor 6: a pipe whose reader has closed it
closed_pipe()
{
	mkfifo pipe
	exec 5<>pipe 6>pipe 5>&-
}

@test "a closed pipe ends it by SIGPIPE, silently" {
	closed_pipe
	rc=0
	env --default-signal=PIPE infer-run --no-stdin --ignore-eos -n 400 the >&6 2>err || rc=$?
	same 141 "$rc"
	[ ! -s err ]
	set +o pipefail
	env --default-signal=PIPE infer-run --no-stdin --ignore-eos -n 400 the 2>err | head -c 20 >out
	same 20 "$(wc -c <out)"
	[ ! -s err ]
}

@test "where SIGPIPE is ignored, a closed pipe is an error of one line" {
	closed_pipe
	rc=0
	(trap '' PIPE; infer-run --no-stdin --ignore-eos -n 400 the >&6 2>err) || rc=$?
	same 1 "$rc"
	grep -qx 'infer-run: error: cannot write standard output: Broken pipe' err
}

@test "--echo prints the prompt before its continuation" {
	a=$(go -n 6 the of)
	same "the of$a" "$(go --echo -n 6 the of)"
	same "the of$a" "$(go --echo --json -n 6 the of | json text)"
}

@test "--stop ends before the string, in the text and in the record" {
	a=$(go -n 12 --ignore-eos the)
	w=$(awk '{ print $4 }' <<<"$a")
	b=$(go -n 12 --ignore-eos --stop "$w" the)
	same "${a%%"$w"*}" "$b"
	same stop "$(go -n 12 --ignore-eos --stop zzz --stop "$w" --json the | json finish_reason)"
}

@test "--ignore-eos goes on to the limit" {
	same length "$(go --ignore-eos -n 40 --json the | json finish_reason)"
	same 40 "$(go --ignore-eos -n 40 --json the | json usage.completion_tokens)"
}

@test "--fail-on-length exits with 6 after the text; without it 0" {
	go --ignore-eos -n 4 the >a
	run -6 go --ignore-eos -n 4 --fail-on-length the
	same "$output" "$(cat a)"
	# a full context ends with length, nothing is shifted
	same length "$(go -c 64 --ignore-eos --json the | json finish_reason)"
	run -6 go -c 64 --ignore-eos --fail-on-length the
}

@test "an answer that the context cut is said on standard error, in one line: not one that -n cut, not with -q" {
	said() { infer-run --no-stdin --temp 0 --ignore-eos "$@" the 2>&1 >/dev/null; }
	same 'infer-run: warning: the context of 64 tokens is full, and the answer is cut; -c makes it larger' "$(said -c 64)"
	same 'infer-run: warning: the context of 64 tokens is full, and the answer is cut; -c makes it larger' "$(said -c 64 --json)"
	same 'infer-run: warning: the context of 64 tokens is full, and the answer is cut; -c makes it larger' "$(said -c 64 -n 99 --repeat 3)"
	[ -z "$(said -q -c 64)" ]
	[ -z "$(said -c 64 -n 4)" ]
	[ -z "$(said -c 64 -n $((64 - $(infer-run --json --no-stdin -n 0 the | json usage.prompt_tokens))))" ]
	# no more is advised than the model has
	mkmodel --ctx 96 short.gguf
	same 'infer-run: warning: the context of 96 tokens is full, and the answer is cut; the model has no larger context' "$(said -m short.gguf)"
	same 'infer-run: warning: the context of 96 tokens is full, and the answer is cut; the model has no larger context' "$(said -m short.gguf -c 96)"
	# the record of a batch says it
	[ -z "$(echo '{"prompt":"the"}' | infer-run -c 64 --ignore-eos --batch - 2>&1 >out)" ]
	same length "$(json finish_reason <out)"
}

@test "run MODEL, as other programs have it, is a prompt, with a warning that names -m" {
	unset INFER_MODEL
	infer-run --no-stdin --temp 0 -n 2 run llama3 2>said >out
	[ -s out ]
	grep -qx "infer-run: warning: 'run llama3' is the prompt here; a model is given with -m, as in -m ollama:llama3" said
	touch m.gguf
	infer-run --no-stdin --temp 0 -n 2 run m.gguf 2>&1 >out | grep -q 'as in -m m.gguf$'
	for model in demo hf:org/none; do
		infer-run --no-stdin --temp 0 -n 2 run $model 2>&1 >out | grep -q "as in -m $model\$"
	done
	infer-run --no-stdin --temp 0 -n 2 run org/none 2>&1 >out | grep -q 'as in -m hf:org/none$'
	for words in 'run' 'run to me' 'walk home'; do
		# shellcheck disable=SC2086
		same "infer-run: warning: no -m and no INFER_MODEL: this is the built-in model" "$(infer-run --no-stdin -n 2 $words 2>&1 >out)"
	done
	infer-run -m demo --no-stdin -n 2 run llama3 2>said
	[ ! -s said ]
}

@test "an answer that -n cut before it satisfied its constraint is said on standard error: not one that satisfies it" {
	said() { infer-run --no-stdin --temp 0 "$@" the 2>&1 >/dev/null; }
	same 'infer-run: warning: -n 3 cut the answer before it satisfied --json-schema' "$(said -n 3 --json-schema '{"type":"string","minLength":20}')"
	same 'infer-run: warning: -n 3 cut the answer before it satisfied --regex' "$(said -n 3 --repeat 2 --regex '[a-z]{40}')"
	same 'infer-run: warning: -n 2 cut 2 answers, the first that of line 1, before they satisfied --regex' \
		"$(printf 'the\nof\n' | infer-run -m demo -n 2 --lines --regex '[a-z]{40}' 2>&1 >/dev/null)"
	[ -z "$(said -q -n 3 --regex '[a-z]{40}')" ]
	[ -z "$(said -n 3 --regex '[a-z]*')" ]
	[ -z "$(said -n 3 --json --regex '[a-z]{40}')" ]
	[ -z "$(said -n 0 --regex '[a-z]{40}')" ]
	[ -z "$(said -n 40 --choice yes)" ]
	run -6 infer-run -q --no-stdin --temp 0 -n 3 --fail-on-length --regex '[a-z]{40}' the
}

@test "a prompt longer than the context exits with 4 and says both" {
	fails 4 '64' go -c 64 "$(yes the | head -n 100 | tr '\n' ' ')"
}

@test "no context above the model's own is advised, and one that is asked for is remarked on, once" {
	mkmodel --ctx 96 short.gguf
	yes the | head -n 300 | tr '\n' ' ' >long
	fails 4 'needs a context of [0-9]+; there are 96: a prompt of at most 95 tokens would fit' infer-run -m short.gguf --raw --no-stdin -f long
	head -c 200 long >less
	fails 4 'there are 16: a context of [0-9]+ or a prompt of at most 15 tokens would fit' infer-run -m short.gguf -c 16 --raw --no-stdin -f less
	infer-run -m short.gguf -c 200 --no-stdin -n 1 the >out 2>err
	same 'infer-run: warning: -c 200 is more than the 96 tokens that the model was trained on: text beyond those is of little use' "$(cat err)"
	infer-run -m short.gguf -c 96 --no-stdin -n 1 the 2>err >out
	[ ! -s err ]
	fails 4 ': a context of 96 fits' infer-run -q -m short.gguf -c 2000000000 --no-stdin the
}

@test "what does not fit into memory exits with 4 and says what would; without -c it takes what fits" {
	fails 4 'needs .* of cache; .* there is 1 bytes' infer-run --kv-bytes 1 x
	[ -z "${SAN:-}" ] || skip "needs a build without sanitizers, which take all address space"
	mkmodel --ctx 1000000 long.gguf
	limited() { (ulimit -v 100000; exec "$@"); }
	fails 4 'a context of 1000000 needs .*a context of [0-9]+ ' limited infer-run -q -m long.gguf -c 1000000 -t 1 --no-stdin x
	limited infer-run -q -m long.gguf -t 1 --no-stdin -n 2 --stats the 2>err >out
	same 1 "$(wc -l <out)"
	[ "$(json ctx <err)" -lt 1000000 ]
}

@test "a missing model exits with 1, and so does what is neither file nor directory" {
	fails 1 'nonexistent.gguf: No such file' infer-run -m nonexistent.gguf x
	mkfifo pipe
	fails 1 'not a regular file' infer-run -m pipe x
}

@test "what is handed in by mistake is called by its name, in one line, with 3" {
	mkdir dir
	fails 3 'dir: this is a directory, not a model: it has no config.json$' infer-run -m dir x
	printf '<!DOCTYPE html>\n<html>' >page.gguf
	fails 3 'page.gguf: this is an HTML page' infer-run -m page.gguf x
	printf 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n' >lfs.gguf
	fails 3 'lfs.gguf: this is a git-lfs pointer, not the file: run .git lfs pull' infer-run -m lfs.gguf x
	gzip -c lfs.gguf >gz.gguf
	fails 3 'gz.gguf: compressed with gzip' infer-run -m gz.gguf x
	printf 'PK\003\004' >zip.gguf
	fails 3 'zip.gguf: this is a zip archive' infer-run -m zip.gguf x
	printf '\200\002cposix' >model.bin
	fails 3 'model.bin: this is a PyTorch checkpoint' infer-inspect -m model.bin
	printf '\030\0\0\0\0\0\0\0{"a":1}' >model.safetensors
	fails 3 'model.safetensors: this is a safetensors file: give the directory it is in' infer-inspect -m model.safetensors
	printf '\010\007\022\007pytorch' >model.onnx
	fails 3 'model.onnx: this is an ONNX model' infer-run -m model.onnx x
}

@test "what is no model exits with 3" {
	echo 'not a model, but text' >text
	fails 3 'text' infer-run -m text x
	: >empty
	fails 3 'empty' infer-run -m empty x
}

@test "weights that are not finite exit with 3 and name where" {
	mkmodel nan.gguf
	off=$(infer-inspect tensors -m nan.gguf --json | grep '"output_norm.weight"' | json offset_bytes)
	printf '\0\0\300\177' | dd of=nan.gguf bs=1 seek="$off" conv=notrunc 2>/dev/null
	rc=0
	infer-run -q -m nan.gguf --no-stdin -n 2 the >out 2>err || rc=$?
	same 3 "$rc"
	same 1 "$(wc -l <err)"
}

@test "greedy output is the same every time; so is a seed, 0 too; other seeds differ" {
	same "$(go -n 20 the)" "$(go -n 20 the)"
	s() { infer-run -q --no-stdin --temp 1.5 -n 24 --ignore-eos --top-p 1 --min-p 0 --top-k 0 "$@" the; }
	same "$(s --seed 0)" "$(s --seed 0)"
	same "$(s --seed -1)" "$(s --seed 18446744073709551615)"
	[ "$(s --seed 1)" != "$(s --seed 2)" ]
	[ "$(s)" != "$(s)" ]
}

@test "a random seed is reported, and gives the same text again" {
	s() { infer-run -q --no-stdin --temp 1.5 -n 24 --ignore-eos --json "$@" the; }
	s >first
	seed=$(json run.seed <first)
	same "$(json text <first)" "$(s --seed "$seed" | json text)"
}

@test "threads, chunks and the kernel set leave every bit as it is" {
	prompt=$(yes 'the of and to in that' | head -n 40 | tr '\n' ' ')
	d() { infer-run -q --no-stdin --temp 0 -n 16 --ignore-eos --stats "$@" "$prompt" 2>&1 >/dev/null | json digest; }
	a=$(d)
	[[ $a =~ ^[0-9a-f]{16}$ ]]
	for o in '-t 1' '-t 2' '-t 3' '--prefill-chunk 1' '--prefill-chunk 64' '--prefill-chunk 512' --no-prefix-cache \
		'-t 3 --prefill-chunk 7 --step-ms 1'; do
		# shellcheck disable=SC2086
		same "$a" "$(d $o)"
	done
	for k in $(infer-inspect hw | sed -n 's/^kernels *//p' | sed 's/[a-z0-9]* (not[^)]*)//g'); do
		same "$a" "$(d --isa "$k")"
	done
	[ "$a" != "$(d --kv-type f32)" ]
	same "$(d --kv-type f32)" "$(d --kv-type f32,f32 -t 1)"
}

@test "a cache of another type: the same bits whatever the threads, chunks and kernel set, the type in the record, the demo's words" {
	prompt='Question: What is inferutils? Answer:'
	d() { infer-run -m demo -q --no-stdin --temp 0 -n 16 --ignore-eos --stats "$@" "$prompt" 2>&1 >/dev/null | json digest; }
	t() { infer-run -m demo -q --no-stdin --temp 0 -n 16 --ignore-eos "$@" "$prompt"; }
	for kv in q8_0 q4_0 q8_0,f16 f32,q4_0; do
		a=$(d --kv-type $kv)
		[ "$a" != "$(d)" ]
		for k in $(infer-inspect hw | sed -n 's/^kernels *//p' | sed 's/[a-z0-9]* (not[^)]*)//g'); do
			same "$a" "$(d --kv-type $kv --isa "$k" -t 1)"
		done
		same "$a" "$(d --kv-type $kv --prefill-chunk 3 -t 3)"
		same "$(t)" "$(t --kv-type $kv)"
		same $kv "$(t --json --kv-type $kv | json run.kv_type)"
	done
	same q4_0 "$(t --json --kv-type q4_0,q4_0 | json run.kv_type)"
}

@test "activations in bf16: bits of their own, the same whatever the threads, chunks and kernel set; the type is in the record" {
	prompt=$(yes 'the of and to in that' | head -n 20 | tr '\n' ' ')
	for type in f16 bf16; do
		mkmodel --type $type --ff 300 half.gguf
		d() { infer-run -m half.gguf -q --no-stdin --temp 0 -n 16 --ignore-eos --stats "$@" "$prompt" 2>&1 >/dev/null | json digest; }
		a=$(d --act-type bf16)
		[ "$a" != "$(d)" ]
		same "$(d)" "$(d --act-type f32)"
		for k in $(infer-inspect hw | sed -n 's/^kernels *//p' | sed 's/[a-z0-9]* (not[^)]*)//g'); do
			same "$a" "$(d --act-type bf16 --isa "$k" -t 1)"
		done
		for o in '-t 3' '--prefill-chunk 1' '--prefill-chunk 7 -t 3' --no-prefix-cache '--prefill-chunk 64 --step-ms 1'; do
			# shellcheck disable=SC2086
			same "$a" "$(d --act-type bf16 $o)"
		done
		t() { infer-run -m half.gguf -q --no-stdin -n 2 --json "$@" the; }
		same 'bf16 ["--act-type=bf16"]' "$(t --act-type bf16 | json run.act_type) $(t --act-type bf16 | json run.flags)"
		same f32 "$(t | json run.act_type)"
	done
}

@test "--repeat N writes the same N times; the prompt is computed once" {
	go --repeat 3 -n 6 --stats "$(yes 'the of and to' | head -n 30 | tr '\n' ' ')" >out 2>err
	same 3 "$(wc -l <out)"
	same 1 "$(sort -u out | wc -l)"
	same 3 "$(json runs.# <err)"
	same 0 "$(json runs.0.cached_tokens <err)"
	[ "$(json runs.1.cached_tokens <err)" -gt 0 ]
	same 0 "$(go --repeat 2 --no-prefix-cache -n 2 --stats "$(yes the | head -n 90 | tr '\n' ' ')" 2>&1 >/dev/null | json cached_tokens)"
}

@test "--stats is one JSON line on standard error, with every counter" {
	go --stats -t 1 -n 8 --ignore-eos the of >out 2>err
	same 1 "$(wc -l <err)"
	same stats "$(json kind <err)"
	for f in load_ms steps rows rows_max rows_per_step chunks preemptions cached_tokens minor_faults major_faults digest \
		peak_rss_bytes runs.0.ttft_ms runs.0.prefill_ms runs.0.decode_ms; do
		[ "$(json $f <err)" != null ] || { echo "no $f"; return 1; }
	done
	same 0 "$(json decode_allocs <err)"
	same 8 "$(json runs.0.completion_tokens <err)"
}

@test "-o jsonl is one record with usage, timings and how it ran; --json is the same" {
	go -o jsonl -n 5 --ignore-eos -t 1 the >out
	same 1 "$(wc -l <out)"
	same completion "$(json kind <out)"
	same 1 "$(json v <out)"
	same 5 "$(json usage.completion_tokens <out)"
	same length "$(json finish_reason <out)"
	same "$(go -n 5 --ignore-eos the)" "$(json text <out)"
	same "$(infer-inspect --json | head -n 1 | json id)" "$(json run.model.id <out)"
	same "$(stat -c %s "$M")" "$(json run.model.file_bytes <out)"
	same '["--ignore-eos","--threads=1"]' "$(json run.flags <out)"
	same "$M" "$(json run.model.path <out)"
	# the clock of the machine, and the file as it was given
	[ $(($(date +%s) - $(json created <out))) -lt 600 ] && [ "$(json created <out)" -le "$(date +%s)" ]
	same demo "$(infer-run -q -m demo --json -n 1 --no-stdin the | json run.model.path)"
	same "$(json text <out)" "$(go --json -n 5 --ignore-eos -t 1 the | json text)"
}

@test "-o tokens is one record a token, which --detokenize reads" {
	go -o tokens -n 7 --ignore-eos the >out
	same 7 "$(wc -l <out)"
	same "0 1 2 3 4 5 6" "$(json i <out | tr '\n' ' ' | sed 's/ $//')"
	same "$(go -n 7 --ignore-eos the)" "$(infer-run --detokenize --no-stdin -f out)"
	same 1 "$(head -n 1 out | json v)"
}

@test "--logprobs K gives K likeliest tokens in order, and those of greedy output are the likeliest" {
	go -o tokens --logprobs 3 -n 4 --ignore-eos the >out
	perl -MJSON::PP -ne '
		my $t = decode_json($_); my @top = @{$t->{top}};
		die "not 3" unless @top == 3;
		die "not the likeliest" unless $top[0]{id} == $t->{id} && $top[0]{logprob} == $t->{logprob};
		die "not in order" unless $top[0]{logprob} >= $top[1]{logprob} && $top[1]{logprob} >= $top[2]{logprob};
		die "not a log-probability" if $t->{logprob} > 0' out
	go --json --logprobs 2 -n 4 --ignore-eos the >rec
	same "$(json id <out | tr '\n' ' ')" "$(json tokens <rec | tr -d '[]' | tr ',' '\n' | tr '\n' ' ')"
}

@test "--score: one line a token and the perplexity, which follows from them" {
	score the of and to in >out
	n=$(infer-run --tokenize --no-stdin the of and to in | wc -w)
	same $((n + 1)) "$(wc -l <out)"
	same '-' "$(head -n 1 out | cut -f 2)"
	perl -F'\t' -lane '
		if ($F[0] eq "perplexity") { my $p = exp(-$s / $n); die "$p is not $F[1]" if abs($p - $F[1]) > 1e-4 * $p; $ok = 1 }
		elsif ($F[1] ne "-") { $s += $F[1]; $n++ }
		END { die "no perplexity" unless $ok }' out
	score --json the of and to in >rec
	same score "$(json kind <rec)"
	score --json the of and to in >again
	same "$(sed 's/"created":[0-9]*,//' rec)" "$(sed 's/"created":[0-9]*,//' again)"
	same null "$(json logprobs.0 <rec)"
	same "$n" "$(json logprobs.# <rec)"
	perl -e 'exit(abs($ARGV[0] - $ARGV[1]) > 1e-6 * $ARGV[0])' "$(json perplexity <rec)" "$(tail -n 1 out | cut -f 2)"
}

@test "--score agrees with the log-probabilities of the tokens that were drawn" {
	go -o tokens -n 6 --ignore-eos --no-prefix-cache the >drawn
	ids=$(infer-run --tokenize --no-stdin the)
	text=$(infer-run --detokenize --no-stdin "$ids $(json id <drawn | tr '\n' ' ')")
	same "$ids $(json id <drawn | tr '\n' ' ' | sed 's/ $//')" "$(infer-run --tokenize --no-stdin "$text")"
	same "$(json logprob <drawn)" "$(score --json "$text" | json logprobs | tr -d '[]' | tr ',' '\n' | tail -n 6)"
}

@test "--score takes texts longer than the context, in windows; the first is as without them" {
	yes 'the of and to in that' | head -n 60 | tr '\n' ' ' >long
	score --json -c 64 -f long >short
	score --json -f long >whole
	n=$(json tokens.# <whole)
	[ "$n" -gt 128 ]
	same "$n" "$(json logprobs.# <short)"
	same 1 "$(json logprobs <short | grep -o null | wc -l)"
	same "$(json logprobs <whole | cut -d, -f 1-64)" "$(json logprobs <short | cut -d, -f 1-64)"
	[ "$(json logprobs <whole | cut -d, -f 65-)" != "$(json logprobs <short | cut -d, -f 65-)" ]
	for m in "$M" "$SPM"; do
		score -m "$m" --json -c 31 -f long -t 1 | json perplexity | grep -q '^[0-9.]*$'
	done
}

@test "--score of less than two tokens is a usage error" {
	fails 2 'nothing to score' infer-run --score --no-stdin ''
}

@test "four at once under xargs say what one says; records stay whole in one file" {
	a=$(go -n 12 the of)
	# shellcheck disable=SC2016
	seq 8 | xargs -P4 -I{} sh -c 'infer-run -q --no-stdin --temp 0 -n 12 the of >"$1"' sh {}.txt
	same 8 "$(cat ?.txt | wc -l)"
	same "$a" "$(sort -u ?.txt)"
	seq 8 | xargs -P4 -I{} infer-run -q --no-stdin --temp 0 -n 12 --json the of >out
	same 8 "$(wc -l <out)"
	same "$a" "$(json text <out | sort -u)"
}

# recommend IN OUT KEY VALUE...: a copy of a model with general.sampling.KEY added; numbers as f32, other values as strings
recommend()
{
	perl -e '
		my ($in, $out, %add) = @ARGV;
		open my $f, "<:raw", $in or die; local $/; my $m = <$f>;
		my $kv = "";
		for my $k (sort keys %add) {
			my ($name, $v) = ("general.sampling.$k", $add{$k});
			$kv .= pack("Q<a*", length $name, $name) . ($v =~ /^[-0-9.]+$/ ? pack("L<f<", 6, $v) : pack("L<Q<a*", 8, length $v, $v));
		}
		my $pad = 32 - (length($kv) + 21) % 32;      # tensors stay on multiples of 32
		$kv .= pack("Q<aL<Q<a*", 1, "x", 8, $pad, "x" x $pad);
		substr($m, 16, 8) = pack("Q<", unpack("Q<", substr($m, 16, 8)) + 1 + keys %add);
		substr($m, 24, 0) = $kv;
		open my $o, ">:raw", $out or die; print $o $m; close $o or die' "$@"
}

@test "what the model recommends is the default, options win over it" {
	sampler() { infer-run -q --no-stdin -n 1 --json "$@" the | json "run.sampler.$field"; }
	recommend "$M" rec.gguf temp 0.25 top_k 7 top_p 1 min_p 0.5 sequence 'top-k;min_p;temp'
	for want in 'temperature 0.8 0.25' 'top_k 40 7' 'min_p 0.05 0.5' 'top_p 0.95 1'; do
		read -r field default recommended <<<"$want"
		same "$default" "$(sampler)"
		same "$recommended" "$(sampler -m rec.gguf)"
	done
	field=samplers
	same '["top_k","min_p","temperature"]' "$(sampler -m rec.gguf)"
	field=temperature
	same 0.5 "$(sampler -m rec.gguf --temp 0.5)"
	field=top_p
	same 0.9 "$(sampler -m rec.gguf --top-p 0.9)"
}

@test "a recommendation that is out of range, or names no stage, is refused by name" {
	recommend "$M" rec.gguf top_p 7
	fails 3 'general.sampling.top_p: 7 is out of range' infer-run -m rec.gguf x
	recommend "$M" rec.gguf sequence 'top_k;tail_free'
	fails 3 "general.sampling.sequence: no stage 'tail_free'" infer-run -m rec.gguf x
	recommend "$M" rec.gguf temp hot
	fails 3 'general.sampling.temp' infer-run -m rec.gguf x
}

@test "stories260K says what a float64 evaluation says, greedily" {
	need_shared models/stories260K.golden.json
	perl -MJSON::PP -e '
		local $/; my $g = decode_json(<STDIN>);
		for my $c (@{$g->{cases}}) {
			my $n = @{$c->{greedy_tokens}};
			open my $p, "-|", "infer-run", "-q", "-m", $ARGV[0], "--no-stdin", "--kv-type", "f32", "--temp", 0, "--ignore-eos",
				"-n", $n, "-o", "tokens", $c->{prompt} or die;
			my @ids = map { decode_json($_)->{id} } split /\n/, <$p>;
			die "$c->{prompt}: @ids" unless "@ids" eq "@{$c->{greedy_tokens}}";
		}' "$SHARED/models/stories260K.gguf" <"$SHARED/models/stories260K.golden.json"
}

@test "stories260K scores prompts as a float64 evaluation does" {
	need_shared models/stories260K.golden.json
	perl -MJSON::PP -e '
		local $/; my $g = decode_json(<STDIN>);
		for my $c (@{$g->{cases}}) {
			open my $p, "-|", "infer-run", "-q", "-m", $ARGV[0], "--no-stdin", "--kv-type", "f32", "--score", "--json", $c->{prompt} or die;
			my $r = decode_json(<$p>);
			die "ids of $c->{prompt}" unless "@{$r->{tokens}}" eq "@{$c->{tokens}}";
			my @l = @{$r->{logprobs}};
			shift @l;
			for my $want (@{$c->{logprob_of_each_next_prompt_token}}) {
				my $have = shift @l;
				die "$c->{prompt}: $have for $want" if abs($have - $want) > 1e-4;
			}
			die "perplexity of $c->{prompt}" if abs($r->{perplexity} - $c->{perplexity}) > 1e-3 * $c->{perplexity};
		}' "$SHARED/models/stories260K.gguf" <"$SHARED/models/stories260K.golden.json"
}
