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
	fails 2 '--with-request needs records of answers' go --with-request the
	fails 2 '--with-request needs records of answers' go --with-request --tokenize the
	fails 2 'the record of --score has the tokens' go --with-request --score --json the
	fails 2 '--echo changes the text of the record' go --with-request --json --echo the
	echo '{"messages":[{"role":"user","content":"a"}],"template_sha256":"00"}' >in
	rc=0
	infer-run -q -m "$CHAT" --batch in >out || rc=$?
	same 7 $rc
	same template_sha256 "$(json param <out)"
}
