# requests in their records, and records run again
load lib

setup_more()
{
	export CHAT=$BATS_FILE_TMPDIR/chat.gguf
	mkmodel --chat --vocab 600 "$CHAT"
}

go() { infer-run -q --no-stdin --ignore-eos "$@"; }
# what is drawn, one line for each record, sorted
drawn()
{
	perl -MJSON::PP -ne 'BEGIN { $j = JSON::PP->new->canonical }
		$r = decode_json($_); delete @$r{qw(v created timings run request request_sha256 usage)}; delete $_->{timings} for @{$r->{choices} || []};
		delete $r->{usage}{cached_tokens}; print $j->encode($r), "\n"' | sort
}
requests() { perl -MJSON::PP -ne '$r = decode_json($_); print JSON::PP->new->canonical->encode($r->{request}), "\n"'; }

@test "the request of a record is a line of a batch that gives the same answer" {
	[ "$(go -o jsonl -n 1 the | grep -c '"request"')" = 0 ]
	try() { # what is asked for, then alone in a batch
		go --with-request -o jsonl -n 12 "$@" >one
		drawn <one >want
		requests <one >ask
		infer-run -q --batch ask --temp 0 --seed 9 | drawn | cmp - want
	}
	try the of and
	try --logprobs 3 --temp 1.7 --top-k 7 --min-p 0.01 --samplers 'top_k;temp' the
	try --logprobs 0 --dry-multiplier 2 --dry-sequence-breaker none the of the of the
	try --logprobs 0 --repeat-penalty 1.7 --presence-penalty -1.25 --mirostat 2 --logit-bias 5=-inf --logit-bias 6=2.5 the
	try --logprobs 0 --raw "$(printf 'a\377b')"
	try --stop o --stop-token 5 --seed -3 the
	export INFER_MODEL=$CHAT
	try --logprobs 1 the of
	try --logprobs 1 --system 'be brief' --template-args '{"x":[1,null]}' the of
	echo '[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"text","text":"b"}]}]' >talk.json
	try --logprobs 1 --messages talk.json the of
	try --logprobs 1 --raw the of
	try --logprobs 1 --raw --special 'the <|im_start|>'
}

@test "a batch keeps requests too, in our own form whatever the form of the line" {
	printf '%s\n' '{"id":4,"prompt":"the","n":3,"logprobs":2,"max_tokens":5}' \
		'{"custom_id":"c","method":"POST","url":"/v1/completions","body":{"prompt":"the","max_tokens":4,"temperature":1.5}}' >in
	infer-run -q --batch in --with-request --top-k 9 >out
	grep '"id":4,' out | drawn >want
	grep '"id":4,' out | requests >ask
	same 9 "$(json top_k <ask)"
	infer-run -q --batch ask | drawn | cmp - want
	grep custom_id out | json response.body.request >ask
	same c "$(json id <ask)"
	same "$(grep custom_id out | json response.body.choices.0.text)" "$(infer-run -q --batch ask | json text)"
}

@test "what no request can say is refused by name" {
	fails 2 'token 5: a request that is written down has no 300' go --with-request --json --logit-bias 5=300 the
	fails 2 '--with-request goes with -o jsonl or --batch only' go --with-request the
	fails 2 '--with-request does not go with --tokenize' infer-run --no-stdin --with-request --tokenize the
	fails 2 '--with-request does not go with --score' infer-run --no-stdin --with-request --score --json the
	fails 2 '--echo does not go with --with-request' go --with-request --json --echo the
	echo '{"messages":[{"role":"user","content":"a"}],"template_sha256":"00"}' >in
	rc=0
	infer-run -q -m "$CHAT" --batch in >out || rc=$?
	same 7 $rc
	same template_sha256 "$(json param <out)"
}

# twenty requests over the stages of sampling, forms, samples and prompts
ask_much() {
	local i=0 o
	for o in '"temperature":0' '"temperature":1.7,"dynatemp_range":0.6' '"top_k":3,"temperature":2' '"top_p":0.3,"n":3' '"min_p":0.2' \
		'"typical_p":0.4' '"top_n_sigma":1.1' '"xtc_probability":0.7,"xtc_threshold":0.05' '"repeat_penalty":1.4,"repeat_last_n":-1' \
		'"dry_multiplier":1,"dry_sequence_breakers":["a"]' '"mirostat":1' '"mirostat":2,"n":2' '"samplers":["top_k","temp"]' \
		'"logit_bias":{"5":-100,"6":2.5}' '"min_keep":3,"stop":["e"]'; do
		i=$((i + 1))
		echo "{\"id\":$i,\"prompt\":\"the of and $i\",\"max_tokens\":$((i * 2)),\"logprobs\":$((i % 3)),$o}"
	done
	echo '{"id":"t","prompt":"the","max_tokens":9}'
	echo '{"id":"ids","prompt":[5,6,7],"max_tokens":9,"logprobs":0}'
	echo '{"id":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"the"}],"max_tokens":9,"logprobs":1}'
	echo '{"id":"u","messages":[{"role":"user","content":"the"}],"tools":[{"type":"function","function":{"name":"f"}}],"max_tokens":9}'
	echo '{"custom_id":"c","method":"POST","url":"/v1/chat/completions","body":{"messages":[{"role":"user","content":"x"}],"max_tokens":6,"n":2,"logprobs":true,"top_logprobs":2}}'
	echo '{"custom_id":"d","method":"POST","url":"/v1/completions","body":{"prompt":"the","max_tokens":6,"logprobs":2}}'
}

template() {
	echo "{% for t in tools or [] %}#{{ t.function.name }}{% endfor %}{% for m in messages %}[{{ m.role }} {{ m.content }}]{% endfor %}{{ strftime_now('%s') }}>" >talk.jinja
}

@test "records run again are the same, whatever the threads, chunks and kernels; one line says what was compared" {
	template
	ask_much >in
	infer-run -q --batch in --with-request --template talk.jinja >out
	sleep 1 # the template writes the second
	try() {
		same '21 records, all the same: text of 21, ids of 17, log-probabilities of 19' "$(infer-run --replay "${file:-out}" --template talk.jinja "$@")"
	}
	try
	try -t 1 --prefill-chunk 1 --no-prefix-cache
	try -t 3 --step-ms 1 --kv-bytes 1M
	for isa in $(infer-run --version | sed -n 's/^kernels://p'); do try --isa "$isa"; done
	shuf out >mixed
	file=- try <mixed
	# as other programs write them
	perl -MJSON::PP -ne 'print JSON::PP->new->canonical->encode(decode_json($_)), "\n"' out >other
	file=other try
	# one record for each
	infer-run --replay out --template talk.jinja -o jsonl >verdicts
	same 21 "$(json same <verdicts | grep -c true)"
	same 'replay' "$(json kind <verdicts | sort -u)"
	same "$(json run.model.id <verdicts | sort -u)" "$(infer-inspect --json | head -n 1 | json id)"
	same '["tokens","logprobs","top","text","finish_reason","usage"]' "$(grep '"id":"m"' verdicts | json compared)"
	same '["text","finish_reason","usage"]' "$(grep '"id":"t"' verdicts | json compared)"
	# a prompt alone, and a score
	infer-run -q --no-stdin -n 5 --seed 3 -o jsonl --logprobs 1 --with-request the of >one
	same '1 record, all the same: text of 1, ids of 1, log-probabilities of 1' "$(infer-run --replay one)"
	infer-run -q --no-stdin --score --json -c 24 the of and the of and the of and the of and the of and the of and the of and >score
	same '1 record, all the same: text of 0, ids of 1, log-probabilities of 1' "$(infer-run --replay score)"
	cat one score one >both
	same '3 records, all the same: text of 2, ids of 3, log-probabilities of 3' "$(infer-run --replay both -c 24)"
}

@test "a difference ends with 8 and is named, the first of the file" {
	ask_much | head -n 17 >in
	infer-run -q --batch in --with-request >out
	# one bit of a weight, far from the middle of its tensor: the same id
	at=$(infer-inspect tensors --json | grep '"blk.1.ffn_down.weight"' | json offset_bytes)
	perl -e 'local $/; open F, "<", $ARGV[0]; $_ = <F>; substr($_, $ARGV[1] + 2, 1) ^= "\x40"; print' "$M" "$at" >flip.gguf
	same 1 "$(cmp -l "$M" flip.gguf | wc -l)"
	same "$(infer-inspect --json | head -n 1 | json id)" "$(infer-inspect flip.gguf --json | head -n 1 | json id)"
	rc=0
	infer-run -m flip.gguf --replay out >said 2>err || rc=$?
	same 8 $rc
	grep -qE '^17 records, [0-9]+ differs?: text of 17, ids of 16, log-probabilities of 16$' said
	same 1 "$(wc -l <err)"
	grep -qE "^infer-run: error: out: line [0-9]+: the record of '[0-9]+': sample 0, token [0-9]+, (logprob|id|top): now .*, in the record " err
	change() { # WHAT WITH: in the record
		perl -pe "s/$1/$2/ if /\"id\":3,/" out >changed
		rc=0
		infer-run --replay changed >said 2>err || rc=$?
		same 8 $rc
		grep -q '^17 records, 1 differs: ' said
		sed 's/.*line //' err
	}
	n=$(grep -n '"id":3,' out | cut -d: -f1)
	drawn=$(grep '"id":3,' out)
	same "$n: the record of '3': sample 0, token 0, id: now $(json tokens.0 <<<"$drawn"), in the record 1" "$(change '"tokens":\[\d+' '"tokens":[1')"
	same "$n: the record of '3': finish_reason" "$(change '"finish_reason":"length"' '"finish_reason":"stop"' | sed 's/sample 0, //; s/:[^:]*$//')"
	same "$n: the record of '3': sample 0, byte 0, text" "$(change '"text":"' '"text":"\\u0001' | sed 's/: now.*//')"
	same "$n: the record of '3': prompt_tokens" "$(change '"prompt_tokens":\d+' '"prompt_tokens":999' | sed 's/: now.*//')"
	rc=0
	infer-run --replay changed -o jsonl >said 2>err || rc=$?
	same 8 $rc
	same "{\"field\":\"prompt_tokens\",\"got\":\"$(json usage.prompt_tokens <<<"$drawn")\",\"recorded\":\"999\"}" \
		"$(grep '"same":false' said | perl -MJSON::PP -ne 'print JSON::PP->new->canonical->encode(decode_json($_)->{difference})')"
}

@test "records that cannot be run again are refused by name; others are passed over" {
	infer-run -q --no-stdin -n 3 --seed 3 -o jsonl --logprobs 1 --with-request the of >one
	fails 2 "line 1: the record of '1' has no request; --with-request puts it there" infer-run --replay <(infer-run -q -n 1 -o jsonl --no-stdin the)
	fails 2 "the record of '1' was made with another model, with id [0-9a-f]{60}" infer-run -m "$SPM" --replay one
	mkmodel --seed 2 tuned.gguf # of the same shape
	fails 2 "the record of '1' was made with another model, with id [0-9a-f]{60}" infer-run -m tuned.gguf --replay one
	# older versions wrote the sha256 of the header and the size
	older=$(perl -MDigest::SHA -e 'local $/; open my $in, "<:raw", $ARGV[0] or die; my $s = <$in>;
		print Digest::SHA::sha256_hex(substr($s, 0, $ARGV[1]), pack("Q<", length $s))' \
		"$M" "$(infer-inspect --json "$M" | head -n 1 | json header_bytes)")
	sed "s/$(json run.model.id <one)/$older/" one >old
	same "$older" "$(json run.model.id <old)"
	same '1 record, all the same: text of 1, ids of 1, log-probabilities of 1' "$(infer-run --replay old)"
	fails 2 "the record of '1' was made with another model" infer-run -m "$SPM" --replay old
	fails 2 "the record of '1' was made with --kv-type f16" infer-run --replay one --kv-type f32
	infer-run -q --no-stdin -n 3 -o jsonl --kv-type f32,f16 --with-request the >other
	same '1 record, all the same: text of 1, ids of 0, log-probabilities of 0' "$(infer-run --replay other)"
	fails 2 "line 2: the record of '1' was made with --kv-type f32,f16" infer-run --replay <(cat one other)
	# the activations: as the first record has them, f32 where it does not say
	mkmodel --type bf16 half.gguf
	again() { infer-run -m half.gguf --replay "$@"; }
	infer-run -q -m half.gguf --no-stdin -n 3 -o jsonl --logprobs 1 --act-type bf16 --with-request the >rounded
	infer-run -q -m half.gguf --no-stdin -n 3 -o jsonl --logprobs 1 --with-request the >plain
	same '1 record, all the same: text of 1, ids of 1, log-probabilities of 1' "$(again rounded)"
	same '1 record, all the same: text of 1, ids of 1, log-probabilities of 1' "$(again plain)"
	sed 's/"act_type":"f32",//' plain >older
	run ! cmp plain older
	same '1 record, all the same: text of 1, ids of 1, log-probabilities of 1' "$(again older)"
	fails 2 "line 1: the record of '1' was made with --act-type bf16" again rounded --act-type f32
	fails 2 "line 1: the record of '1' was made with --act-type f32" again older --act-type bf16
	fails 2 "line 2: the record of '1' was made with --act-type f32" again <(cat rounded plain)
	# the context: where the answer has room in it
	same '1 record, all the same: text of 1, ids of 1, log-probabilities of 1' "$(infer-run --replay one -c 100)"
	fails 2 "the record of '1' was made with --ctx" infer-run --replay one -c 4
	infer-run -q --no-stdin -c 20 --ignore-eos -o jsonl --with-request the of >cut.jsonl
	same '1 record, all the same: text of 1, ids of 0, log-probabilities of 0' "$(infer-run --replay cut.jsonl)"
	fails 2 "the record of '1' was made with --ctx 20" infer-run --replay cut.jsonl -c 21
	# another template
	template
	infer-run -q -m "$CHAT" --no-stdin -n 2 -o jsonl --with-request the >talked
	fails 2 'template_sha256: the request is for another chat template' infer-run -m "$CHAT" --replay talked --template talk.jinja
	fails 3 "line 2: column 9: the text ends too early" infer-run --replay <(cat one; echo '{"kind":')
	fails 2 'has no record that can be run again' infer-run --replay /dev/null
	fails 2 'has no record that can be run again' infer-run --replay <(echo '{"kind":"token","i":0}')
	fails 1 'nosuch: No such file' infer-run --replay nosuch
	fails 2 '--seed does not go with --replay' infer-run --replay one --seed 3
	fails 2 '--replay reads its prompts from the records' infer-run --replay one the
	fails 2 '--batch and --replay exclude' infer-run --replay one --batch one
	fails 2 'a model must be named|no model' env -u INFER_MODEL infer-run --replay one
	printf '%s\n\n%s\n' '{"kind":"from the future","x":[1]}' '{"kind":"error","id":"a","code":"INFER_EINVAL"}' | cat - one >more.jsonl
	same '1 record, all the same: text of 1, ids of 1, log-probabilities of 1; 2 of other kinds skipped' "$(infer-run --replay more.jsonl)"
}
