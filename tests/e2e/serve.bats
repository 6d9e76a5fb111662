# infer-serve: over sockets in the file system, whose names are those of the folder
load lib
load serve

# one server for what does not change it; a small model, slow enough to be interrupted, for the rest
setup_more()
{
	export SOCK=$BATS_FILE_TMPDIR/s KEYS=$BATS_FILE_TMPDIR/keys
	export TALK='"messages":[{"role":"user","content":"What is a token?"}],"temperature":0'
	infer-serve -m demo -t 2 --listen "unix:$SOCK" --max-body 300000 --access-log "$BATS_FILE_TMPDIR/access" >listening 2>said &
	echo $! >"$BATS_FILE_TMPDIR/pid"
	up listening
}
teardown_file()
{
	kill -TERM "$(cat "$BATS_FILE_TMPDIR/pid")"
	for _ in $(seq 1200); do
		[ -e "$BATS_FILE_TMPDIR/s" ] || return 0
		sleep 0.1
	done
	return 1
}

ask() { perl "$H" "$SOCK" ask "$@"; }
post() { ask POST "$@"; }
field() { sed -n "s/^$1: //Ip" head; }

@test "what it says of itself: health, models, version; the address is printed" {
	same "unix:$SOCK" "$(cat "$BATS_FILE_TMPDIR/listening")"
	[ ! -s "$BATS_FILE_TMPDIR/said" ]
	same ok "$(ask GET /health | json status)"
	same 'application/json; charset=utf-8' "$(field content-type)"
	same "$(ask GET /health) $(ask GET /health)" "$(ask GET /ping) $(ask POST /ping)"
	same "$(ask GET /health)" "$(ask GET /v1/health)"
	same "$(ask GET /v1/models)" "$(ask GET /models)"
	ask GET /v1/models >out
	same 'list inferutils-demo 1024' "$(json object <out) $(json data.0.id <out) $(json data.0.max_model_len <out)"
	same "{\"object\":\"list\",\"data\":[$(ask GET /v1/models/inferutils-demo)]}" "$(cat out)"
	# the name in the model file, of which the id is made
	same "$(ask GET /v1/models/inferutils-demo)" "$(ask GET /v1/models/inferutils%20demo)"
	same model_not_found "$(ask GET /v1/models/other | json error.code)"
	perl "$H" "$SOCK" ask GET /v1/models '' 'anthropic-version: 2023-06-01' >out
	same 'model inferutils-demo inferutils demo active false inferutils-demo inferutils-demo' \
		"$(for k in data.0.type data.0.id data.0.display_name data.0.lifecycle has_more first_id last_id; do json $k <out; done | paste -sd' ')"
	json data.0.created_at <out | grep -qxE '[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z'
	perl "$H" "$SOCK" ask GET /v1/models/inferutils-demo '' 'anthropic-version: 2023-06-01' >one
	same "$(json data.0.id <out)" "$(json id <one)"
	perl "$H" "$SOCK" ask GET '/v1/models?after_id=inferutils-demo' '' 'anthropic-version: 2023-06-01' >out
	same '0 null false' "$(json data.# <out) $(json first_id <out) $(json has_more <out)"
	perl "$H" "$SOCK" ask GET /v1/models/other '' 'anthropic-version: 2023-06-01' >out
	same 'error not_found_error' "$(json type <out) $(json error.type <out)"
	same 404 "$(status)"
	same "$(infer-serve --version | sed -n '1s/.* //p')" "$(ask GET /version | json version)"
	same 0 "$(ask GET /load | json server_load)"
}

@test "the page, file by file, and counting tokens" {
	for path in /=index.html /page.css=page.css /page.js=page.js; do
		ask GET "${path%%=*}" >out
		cmp out "$TOP/cmd/infer-serve/page/${path#*=}"
	done
	for path in /v1/chat/completions/input_tokens /chat/completions/input_tokens; do
		same "$(post /tokenize "{$TALK}" | json count)" "$(post $path "{$TALK}" | json input_tokens)"
	done
}

@test "paths that mean the same give the same answer" {
	alike() { # FIELD BODY PATH PATH
		post "$3" "$2" | json "$1" >one
		[ -s one ]
		post "$4" "$2" | json "$1" | cmp - one
	}
	alike choices.0.message.content "{$TALK,\"max_tokens\":8}" /v1/chat/completions /chat/completions
	alike output.0.content.0.text '{"input":"What is a token?","max_output_tokens":8,"temperature":0}' /v1/responses /responses
	alike content '{"prompt":"What is","n_predict":8,"temperature":0}' /completion /completions
	alike data.0.embedding.0 '{"input":"What is a token?"}' /v1/embeddings /embeddings
}

@test "paths, methods and heads: 404, 405 with Allow, HEAD, OPTIONS, CORS, request ids, 501 by name" {
	same 'not_found_error 404' "$(ask GET /nothing | json error.type) $(status)"
	same 'method_not_allowed 405' "$(ask GET /v1/completions | json error.code) $(status)"
	same 'POST, OPTIONS' "$(field allow)"
	ask PUT /health >out
	same '405 GET, HEAD, OPTIONS' "$(status) $(field allow)"
	ask HEAD /health >out
	same "200 $(ask GET /health | tr -d '\n' | wc -c)" "$(ask HEAD /health >/dev/null; status) $(field content-length)"
	[ ! -s out ]
	perl "$H" "$SOCK" ask OPTIONS /v1/chat/completions '' 'Origin: http://a.example' 'Content-Type:' >out
	same '200 http://a.example GET, POST *' "$(status) $(field access-control-allow-origin) $(field access-control-allow-methods) $(field access-control-allow-headers)"
	same true "$(field access-control-allow-credentials)"
	perl "$H" "$SOCK" ask OPTIONS /v1/files/x '' 'Origin: http://a.example' 'Content-Type:' >out
	same 'GET, POST, DELETE' "$(field access-control-allow-methods)"
	ask GET /health >out
	[ -z "$(field access-control-allow-origin)" ]
	field x-request-id | grep -qx 'req_[0-9a-f]\{16\}'
	perl "$H" "$SOCK" ask POST /tokenize '{}' 'X-Request-Id: my-id.1' >out
	same my-id.1 "$(field x-request-id)"
	perl "$H" "$SOCK" ask POST /tokenize '{}' 'X-Request-Id: no id' >out
	field x-request-id | grep -q ^req_
	sed -n 's/^OFF(\([A-Z]*\), "\(.*\)")$/\1 \2/p' "$TOP/cmd/infer-serve/endpoints/endpoint_list.h" | tr '*' 0 >off
	[ "$(wc -l <off)" -gt 5 ]
	while read -r method path; do
		ask "$method" "$path" '{}' | grep -qF "does not have ${path%0}"
		same "$path 501" "$path $(status)"
	done <off
	for path in /v1/rerank /v2/rerank /rerank /reranking /v1/score /score; do
		post $path '{}' | json error.message | grep -q "no head that ranks"
		same 501 "$(status)"
	done
	post /v1/messages '{}' >out
	same 'error invalid_request_error' "$(json type <out) $(json error.type <out)"
	same "$(field request-id)" "$(json request_id <out)"
}

@test "bodies: types, JSON that is none, depth, keys twice, surrogates, lengths; the connection stays whole" {
	for type in application/json 'application/json; charset=utf-8' application/x+json; do
		perl "$H" "$SOCK" ask POST /tokenize '{"content":"a"}' "Content-Type: $type" >out
		same 200 "$(status)"
	done
	perl "$H" "$SOCK" ask POST /tokenize '{}' 'Content-Type: application/x-www-form-urlencoded' >out
	same '415 unsupported_media_type' "$(status) $(json error.code <out)"
	for path in /v1/chat/completions /v1/completions /tokenize; do
		for body in '' '[' '[]' '"a"' 'null' '{"a":1,"a":2}' '{"a":"\ud800"}' '{"a":1}x' $'{"prompt":"\xff"}' "$(perl -e 'print "[" x 100000')"; do
			echo "- $body"
		done | refused $path
	done
	# one connection, three requests at once
	printf 'GET /health HTTP/1.1\r\nHost: x\r\n\r\nGET /nothing HTTP/1.1\r\nHost: x\r\n\r\nPOST /tokenize HTTP/1.1\r\nHost: x\r\nContent-Length: 15\r\nConnection: close\r\n\r\n{"content":"a"}' |
		perl "$H" "$SOCK" send >out
	same '200 404 200' "$(grep -ao 'HTTP/1.1 [0-9]*' out | cut -d' ' -f2 | xargs)"
	# what is no HTTP is answered, or cut off
	printf 'nonsense\r\n\r\n' | perl "$H" "$SOCK" send >out
	same ok "$(ask GET /health | json status)"
}

@test "a body that is too long: 413 from its length, or from its chunks, up to four times the limit" {
	perl -e 'print "POST /tokenize HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 300001\r\nExpect: 100-continue\r\n\r\n"' |
		perl "$H" "$SOCK" send >out
	grep -qa '^HTTP/1.1 413' out
	! grep -qa '^HTTP/1.1 100' out
	perl -e 'print "POST /tokenize HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n{}"' | perl "$H" "$SOCK" send >out
	same '100 200' "$(grep -ao 'HTTP/1.1 [0-9]*' out | cut -d' ' -f2 | xargs)"
	perl "$H" "$SOCK" chunked 300000 /tokenize >out
	same '400' "$(cut -d' ' -f1 out)"
	for bytes in 300001 1200000 2000000; do
		perl "$H" "$SOCK" chunked $bytes /tokenize >out
		same '413 request_too_large' "$(cut -d' ' -f1 out) $(sed 's/^413 //' out | json error.code)"
	done
	same ok "$(ask GET /health | json status)"
}

@test "fields of the wrong type and out of range: 400, and param names the field; unknown ones and null are passed over" {
	local common='max_tokens "5"|max_tokens 1.5|n 0|n 129|n "1"|temperature "hot"|temperature -2|top_p 2|top_k 0.5|stop 5|stop [""]|seed "x"|logit_bias 5|stream 1|presence_penalty 9'
	local chat='logprobs 1|top_logprobs 3|tools 5|messages 5|messages []|messages [5]|messages [{}]|chat_template_kwargs 5|stream_options {"include_usage":true}'
	local text='prompt 5|prompt []|prompt [-1]|logprobs "a"|echo 1|best_of 2|suffix "a"|stream_options {}'
	# a value takes the place of one that is there
	tr '|' '\n' <<<"$common|$chat" | perl -MJSON::PP -ne '
		my ($k, $v) = /^(\S+) (.*)$/; my $b = decode_json("{$ENV{TALK}}");
		$b->{$k} = JSON::PP->new->allow_nonref->decode($v); print "$k ", encode_json($b), "\n"' | refused /v1/chat/completions
	tr '|' '\n' <<<"$common|$text" | perl -MJSON::PP -ne '
		my ($k, $v) = /^(\S+) (.*)$/; my $b = { prompt => "a" };
		$b->{$k} = JSON::PP->new->allow_nonref->decode($v); print "$k ", encode_json($b), "\n"' | refused /v1/completions
	post /v1/chat/completions "{$TALK,\"max_tokens\":2,\"unheard\":{},\"seed\":null,\"stop\":null,\"user\":\"u\"}" >out
	same 200 "$(status)"
	post /v1/completions "{\"prompt\":\"$(perl -e 'print "word " x 2000')\"}" >out
	same '400 exceed_context_size_error context_length_exceeded 1024' "$(status) $(json error.type <out) $(json error.code <out) $(json error.n_ctx <out)"
	post /v1/completions "{\"stream\":true,\"prompt\":\"$(perl -e 'print "word " x 2000')\"}" >out
	same 400 "$(status)"
}

@test "chat completions: whole and streamed are the same, and what infer-run says" {
	post /v1/chat/completions "{$TALK,\"max_tokens\":12,\"logprobs\":true,\"top_logprobs\":2}" >whole
	same "$(infer-run -q -m demo --no-stdin --temp 0 -n 12 'What is a token?')" "$(json choices.0.message.content <whole)"
	same 'chat.completion assistant length 12' "$(json object <whole) $(json choices.0.message.role <whole) $(json choices.0.finish_reason <whole) $(json usage.completion_tokens <whole)"
	json system_fingerprint <whole | grep -q ^b
	json id <whole | grep -q '^chatcmpl-'
	perl "$H" "$SOCK" stream /v1/chat/completions "{$TALK,\"max_tokens\":12,\"logprobs\":true,\"top_logprobs\":2,\"stream\":true,\"stream_options\":{\"include_usage\":true}}" >events
	same '[DONE]' "$(tail -n 1 events)"
	sed '$d' events >chunks.jsonl
	same 1 "$(json id <chunks.jsonl | sort -u | wc -l)"
	same 1 "$(json created <chunks.jsonl | sort -u | wc -l)"
	same chat.completion.chunk "$(json object <chunks.jsonl | sort -u)"
	same '{"content":null,"role":"assistant"}' "$(head -n 1 chunks.jsonl | json choices.0.delta | perl -MJSON::PP -ne 'print JSON::PP->new->canonical->encode(decode_json($_))')"
	same '{}' "$(tail -n 2 chunks.jsonl | head -n 1 | json choices.0.delta)"
	same '[]' "$(tail -n 1 chunks.jsonl | json choices)"
	same "$(json usage.total_tokens <whole)" "$(tail -n 1 chunks.jsonl | json usage.total_tokens)"
	same "$(json choices.0.message.content <whole)" "$(sed '1d;$d' chunks.jsonl | json choices.0.delta | perl -MJSON::PP -ne 'print decode_json($_)->{content} // ""')"
	same "$(json choices.0.logprobs.content.# <whole)" "$(sed '$d' chunks.jsonl | perl -MJSON::PP -ne '$n += @{(decode_json($_)->{choices}[0]{logprobs} // {})->{content} // []}; END { print $n }')"
	# the bytes of the first event
	head -n 1 events | grep -qE '^\{"id":"chatcmpl-[0-9a-f]+","object":"chat.completion.chunk","created":[0-9]+,"model":"inferutils-demo","system_fingerprint":"b[0-9.]+","choices":\[\{"index":0,"delta":\{"role":"assistant","content":null\},"logprobs":null,"finish_reason":null\}\],"usage":null\}$'
}

@test "completions: stop, n, seeds, logprobs, bias; streamed are the same" {
	same "$(infer-run -q -m demo --no-stdin --temp 0 -n 16 --raw 'Once upon')" "$(post /v1/completions '{"prompt":"Once upon","temperature":0}' | json choices.0.text)"
	same 200 "$(status)"
	post /v1/completions '{"prompt":"Once upon","seed":7,"n":3}' >whole
	perl "$H" "$SOCK" stream /v1/completions '{"prompt":"Once upon","seed":7,"n":3,"stream":true}' | sed '$d' >events
	for i in 0 1 2; do
		same "$(json choices.$i.text <whole)" "$(perl -MJSON::PP -ne 'for (@{decode_json($_)->{choices}}) { print $_->{text} if $_->{index} == '$i' }' events)"
	done
	same '3' "$(json choices.0.finish_reason <events | grep -vc null)"
	post /v1/completions '{"prompt":"Once upon","temperature":0,"stop":[" time","x"],"logprobs":1}' >out
	same 'stop' "$(json choices.0.finish_reason <out)"
	! json choices.0.text <out | grep -q time
	same "$(json choices.0.logprobs.tokens.# <out)" "$(json usage.completion_tokens <out)"
	[ "$(post /v1/completions '{"prompt":"Once upon","temperature":0,"logit_bias":{"266":100}}' | json choices.0.text)" != "$(json choices.0.text <out)" ]
}

@test "several prompts, each as if alone; echo with the log-probabilities of the prompt; the usage in every chunk" {
	post /v1/completions '{"prompt":["Once upon",[266,"Once"]],"n":2,"seed":7,"max_tokens":4}' >whole
	same '0 1 2 3' "$(perl -MJSON::PP -ne 'print join " ", map { $_->{index} } @{decode_json($_)->{choices}}' whole)"
	same "$(post /v1/completions '{"prompt":"Once upon","n":2,"seed":7,"max_tokens":4}' | json choices.1.text)" "$(json choices.1.text <whole)"
	same "$(post /v1/completions '{"prompt":[266,"Once"],"seed":7,"max_tokens":4}' | json choices.0.text)" "$(json choices.2.text <whole)"
	same '4 16' "$(json usage.prompt_tokens <whole) $(json usage.completion_tokens <whole)"
	post /v1/completions '{"prompt":"Once upon","temperature":0,"max_tokens":2,"echo":true,"logprobs":0}' >out
	grep -q '"text":"Once upon a time"' out
	same "null 4 0,4,9,11" "$(json choices.0.logprobs.token_logprobs.0 <out) $(json choices.0.logprobs.tokens.# <out) $(json choices.0.logprobs.text_offset <out | tr -d '[]')"
	# the prompt's are those of a run that draws the same tokens
	same "$(post /v1/completions '{"prompt":"Once","temperature":0,"max_tokens":3,"logprobs":0,"logit_bias":[[" upon",100]]}' | json choices.0.logprobs.token_logprobs.0)" \
		"$(json choices.0.logprobs.token_logprobs.1 <out)"
	post /v1/completions '{"prompt":"Once upon","max_tokens":0,"echo":true}' | json choices.0.text | grep -qx 'Once upon'
	perl "$H" "$SOCK" stream /v1/completions '{"prompt":"Once upon","temperature":0,"max_tokens":3,"echo":true,"logprobs":1,"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}}' | sed '$d' >events
	same 'Once upon a time there' "$(sed '$d' events | json choices.0.text | tr -d '\n')"
	same '1 2 3 3 3' "$(json usage.completion_tokens <events | xargs)"
}

@test "fields of vLLM: ids, log-probabilities of the prompt, prompts that are cut, salts, tokens that may come; those without effect are refused" {
	local greedy='"temperature":0,"max_tokens":3,"logprobs":0'
	ids() { json choices.0.token_ids <"$1" | tr -d '[]'; }
	post /v1/completions "{\"prompt\":\"Once upon\",$greedy,\"return_token_ids\":true,\"return_tokens_as_token_ids\":true}" >out
	same "[$(infer-run -m demo --tokenize --no-stdin 'Once upon' | tr ' ' ,)]" "$(json choices.0.prompt_token_ids <out)"
	same "$(infer-run -m demo --detokenize --no-stdin $(ids out | tr , ' ') | sed 's/^/x/')" "x$(json choices.0.text <out)"
	same "$(ids out | tr , '\n' | sed 's/^/token_id:/' | xargs)" "$(json choices.0.logprobs.tokens <out | tr -d '[]"' | tr , ' ')"
	perl "$H" "$SOCK" stream /v1/completions "{\"prompt\":\"Once upon\",$greedy,\"return_token_ids\":true,\"stream\":true}" | sed '$d' >events
	same "$(ids out)" "$(json choices.0.token_ids <events | tr -d '[]' | sed '/^$/d' | paste -sd,)"
	same 1 "$(grep -c prompt_token_ids events)"
	# what was drawn as the most likely has the first place, and the number that it was drawn with
	post /v1/completions "{\"prompt\":[$(json choices.0.prompt_token_ids <out | tr -d '[]'),$(ids out)],\"max_tokens\":1,\"prompt_logprobs\":2}" >again
	for i in 0 1 2; do
		json "choices.0.prompt_logprobs.$((i + 2)).$(ids out | cut -d, -f$((i + 1))).rank" <again
		json "choices.0.prompt_logprobs.$((i + 2)).$(ids out | cut -d, -f$((i + 1))).logprob" <again
	done | xargs >places
	same "$(json choices.0.logprobs.token_logprobs <out | tr -d '[]' | tr , '\n' | sed 's/^/1 /' | xargs)" "$(cat places)"
	same 'null 2' "$(json choices.0.prompt_logprobs.0 <again) $(perl -MJSON::PP -ne 'print scalar keys %{decode_json($_)->{choices}[0]{prompt_logprobs}[2]}' again)"
	post /v1/chat/completions "{$TALK,\"max_tokens\":1,\"n\":2,\"return_token_ids\":true,\"prompt_logprobs\":0,\"truncate_prompt_tokens\":4}" >out
	same '4 4 1 1' "$(json prompt_token_ids.# <out) $(json prompt_logprobs.# <out) $(json choices.0.token_ids.# <out) $(json choices.1.token_ids.# <out)"
	for how in '"truncate_prompt_tokens":2' '"truncate_prompt_tokens":2,"truncation_side":"right"' '"truncate_prompt_tokens":9' '"truncate_prompt_tokens":2,"echo":true' '"allowed_token_ids":[300]'; do
		post /v1/completions "{\"prompt\":[266,267,268],\"max_tokens\":2,\"return_token_ids\":true,$how}" >out.$((++n))
	done
	same '[267,268] [266,267] [266,267,268] [267,268]' "$(cat out.[1-4] | json choices.0.prompt_token_ids | xargs)"
	same '[300,300]' "$(json choices.0.token_ids <out.5)"
	# as many as leave room for the answer
	post /v1/completions "{\"prompt\":\"$(perl -e 'print "word " x 2000')\",\"max_tokens\":12,\"truncate_prompt_tokens\":-1,\"ignore_eos\":true}" >out
	same '1012 12 length' "$(json usage.prompt_tokens <out) $(json usage.completion_tokens <out) $(json choices.0.finish_reason <out)"
	for salt in a a b; do
		post /v1/completions "{\"prompt\":\"$(perl -e 'print "salt " x 40')\",\"max_tokens\":1,\"cache_salt\":\"$salt\"}" | json usage.prompt_tokens_details.cached_tokens
	done >cached
	same '0 1 0' "$(sed 's/^[1-9].*/1/' cached | xargs)"
	# a penalty of all tokens, as with the whole window
	post /v1/completions '{"prompt":"Once upon","max_tokens":40,"seed":3,"repetition_penalty":1.5}' | json choices.0.text >out
	post /v1/completions '{"prompt":"Once upon","max_tokens":40,"seed":3,"repeat_penalty":1.5,"repeat_last_n":-1}' | json choices.0.text | cmp - out
	perl -ne 'my ($k, $v) = /^(\S+) (.*)$/; print "$k {\"prompt\":\"a\",\"$k\":$v}\n"' >lines <<-'END'
		return_token_ids 1
		return_tokens_as_token_ids "a"
		prompt_logprobs -1
		prompt_logprobs 21
		truncate_prompt_tokens 0
		truncation_side "top"
		add_special_tokens 5
		skip_special_tokens 5
		cache_salt ""
		repetition_penalty "a"
		allowed_token_ids []
		allowed_token_ids [100000]
		use_beam_search true
		length_penalty 2
		bad_words "a"
		bad_words [""]
		logprob_token_ids [1]
		prompt_embeds "a"
		priority 1.5
		priority -1000001
	END
	refused /v1/completions <lines
	echo 'prompt_logprobs {"prompt":"a","prompt_logprobs":1,"stream":true}' | refused /v1/completions
	for f in 'chat_template "a"' 'include_reasoning false' 'add_special_tokens true' 'documents ["a"]'; do
		echo "${f%% *} {$TALK,\"${f%% *}\":${f#* }}"
	done | refused /v1/chat/completions
	# what says nothing
	post /v1/completions '{"prompt":"a","max_tokens":1,"use_beam_search":false,"length_penalty":1.0,"bad_words":[],"priority":-7,"skip_special_tokens":true}' >out
	same 200 "$(status)"
}

@test "--cors: one origin, or the pages of this machine" {
	allowed() {
		while read -r origin; do
			curl -s --unix-socket own -X OPTIONS -i -H "Origin: $origin" http://x/v1/models >out
			grep -q '^HTTP/1.1 \(200\|403\)' out
			grep -qi '^Vary: Origin' out
			same "$(grep -c '^HTTP/1.1 200' out)" "$(grep -ci '^Access-Control-Allow-Origin' out)"
			! grep -qi "^Access-Control-Allow-Origin: $(sed 's/[][]/\\&/g' <<<"$origin").\?$" out || echo "$origin"
		done
	}
	serve -m "$M" --cors localhost
	printf '%s\n' http://localhost https://localhost:8080 http://127.0.0.1 http://127.0.0.1:3000 'http://[::1]' 'http://[::1]:3000' >local
	allowed <local | cmp - local
	printf '%s\n' http://evil.com http://notlocalhost http://localhost.evil.com http://localhost:80.evil.com http://localhost: ftp://localhost localhost null | allowed >out2
	[ ! -s out2 ]
	end_server
	serve -m "$M" --cors http://a.example
	same http://a.example "$(printf '%s\n' http://b.example http://a.example http://a.example:80 http://localhost | allowed)"
}

@test "return_progress: events of how much of the prompt is read, and timings that grow" {
	serve -m "$M" --prefill-chunk 20
	# [cache, processed] of each, and whether the time of the prompt goes back
	progress() {
		perl -MJSON::PP -ne '
			next unless s/^data: (\{.*)/$1/;
			my $d = decode_json($_);
			if (my $t = $d->{timings}) { print "back " if $t->{prompt_ms} < $ms; $ms = $t->{prompt_ms} }
			my $p = $d->{prompt_progress} or next;
			print "$p->{cache}/$p->{processed}/$p->{total} "'
	}
	long=$(perl -e 'print "the of " x 16')
	for i in 1 2; do
		printf '{"prompt":"%s","max_tokens":3,"ignore_eos":true,"stream":true,"return_progress":true,"timings_per_token":true}' "$long" >body
		post_to() { curl -sN --unix-socket own -H 'Content-Type: application/json' --data-binary @"$2" "http://x$1"; }
		post_to /v1/completions body | progress >"said.$i"
	done
	total=$(own ask POST /tokenize "{\"content\":\"$long\"}" | json tokens.#)
	same "0/0/$total 0/20/$total 0/$total/$total " "$(cat said.1)"
	same "$((total - 1))/$((total - 1))/$total $((total - 1))/$total/$total " "$(cat said.2)"
	printf '{"prompt":"and %s","n_predict":1,"stream":true,"return_progress":true}' "$long" >body
	same "0/0/$((total + 1)) 0/20/$((total + 1)) 0/$((total + 1))/$((total + 1)) " "$(post_to /completion body | progress)"
	printf '{"input":"%s","max_output_tokens":16,"stream":true,"return_progress":true}' "$long" >body
	post_to /v1/responses body >events
	[ "$(progress <events | wc -w)" -ge 3 ]
	same 'response.in_progress' "$(grep prompt_progress events | sed 's/^data: //' | json type | sort -u)"
	# whole answers have nothing of it
	! own ask POST /v1/completions '{"prompt":"the","max_tokens":1,"return_progress":true}' | grep progress
}

@test "the last turn of the assistant is continued; what goes with it and what does not" {
	begun='"messages":[{"role":"user","content":"What is a token?"},{"role":"assistant","content":"A token is"}]'
	post /apply-template "{$begun}" | json prompt | tail -n 1 | grep -q 'A token is$'
	same 2 "$(post /apply-template "{$begun,\"continue_final_message\":false}" | json prompt | grep -c 'assistant$')"
	printf '%s\n' "continue_final_message {$begun,\"continue_final_message\":true,\"add_generation_prompt\":true}" \
		"continue_final_message {$TALK,\"continue_final_message\":true}" "messages {$begun,\"chat_template_kwargs\":{\"enable_thinking\":true}}" \
		"chat_template_kwargs {$TALK,\"chat_template_kwargs\":{\"enable_thinking\":\"yes\"}}" \
		'messages {"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"assistant","content":"c"}]}' \
		'messages {"messages":[{"role":"tool","content":"a"}]}' 'messages {"messages":[{"role":"assistant"}]}' 'messages {"messages":[{"role":"user","content":5}]}' \
		'messages {"messages":[{"role":"odd","content":"a"}]}' 'messages {"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}}]}]}' \
		"max_tokens {$TALK,\"max_tokens\":0}" "reasoning_effort {$TALK,\"reasoning_effort\":\"lots\"}" "modalities {$TALK,\"modalities\":[\"audio\"]}" \
		"structured_outputs {$TALK,\"structured_outputs\":{}}" "structured_outputs {$TALK,\"structured_outputs\":{\"regex\":\"a\",\"choice\":[\"a\"]}}" | refused /v1/chat/completions
	post /v1/chat/completions "{$TALK,\"structured_outputs\":{\"choice\":[\"yes\",\"no\"]}}" | json choices.0.message.content | grep -qxE 'yes|no'
	same 2 "$(post /v1/chat/completions "{$TALK,\"max_tokens\":9,\"max_completion_tokens\":2}" | json usage.completion_tokens)"
	post /v1/completions '{"prompt":"Once upon","temperature":0,"stop":" time","include_stop_str_in_output":true}' | json choices.0.text | grep -q ' time$'
	# what is continued stands in front, whole and streamed; a turn of the user does not
	local begun='"messages":[{"role":"user","content":"What is a token?"},{"role":"assistant","content":"A token"}],"temperature":0,"max_tokens":3'
	post /v1/chat/completions "{$begun,\"logprobs\":true}" >plain
	post /v1/chat/completions "{$begun,\"logprobs\":true,\"echo\":true}" >out
	same "A token$(json choices.0.message.content <plain)" "$(json choices.0.message.content <out)"
	of() { echo "$(json choices.0.logprobs.content.# <"$1") $(json choices.0.logprobs.content.0.logprob <"$1") $(json usage.completion_tokens <"$1")"; }
	same "$(of plain)" "$(of out)"
	perl "$H" "$SOCK" stream /v1/chat/completions "{$begun,\"echo\":true,\"stream\":true}" | sed '$d' | json choices.0.delta.content | grep -v null | tr -d '\n' >text
	same "$(json choices.0.message.content <out)" "$(cat text)"
	same "$(post /v1/chat/completions "{$TALK,\"max_tokens\":3}" | json choices.0.message.content)" "$(post /v1/chat/completions "{$TALK,\"max_tokens\":3,\"echo\":true}" | json choices.0.message.content)"
}

@test "tokens and texts: as infer-run does, of vLLM's form too" {
	same "[$(infer-run -m demo --tokenize 'a lighthouse' --no-stdin | tr ' ' ,)]" "$(post /tokenize '{"content":"a lighthouse"}' | json tokens)"
	same 'a lighthouse' "$(post /detokenize "$(post /tokenize '{"content":"a lighthouse"}')" | json content)"
	same '[]' "$(post /tokenize '{}' | json tokens)"
	post /tokenize '{"prompt":"a lighthouse","add_special_tokens":false}' >out
	same "1024 $(json tokens.# <out)" "$(json max_model_len <out) $(json count <out)"
	post /tokenize '{"content":"a ☃","with_pieces":true}' >out
	same a "$(json tokens.0.piece <out)"
	same '226,152,131' "$(perl -MJSON::PP -ne 'print join ",", map { ref $_->{piece} ? @{$_->{piece}} : () } @{decode_json($_)->{tokens}}' out)"
	printf '%s\n' 'content {"content":5}' 'add_special {"content":"a","add_special":1}' | refused /tokenize
	printf '%s\n' 'tokens {}' 'tokens {"tokens":[1024]}' 'tokens {"tokens":["a"]}' | refused /detokenize
}

@test "apply-template renders what infer-run does; props says what there is" {
	post /apply-template '{"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"a\nb"}]}' >out
	printf '[{"role":"user","content":"a\\nb"}]' >talk
	infer-run -q -m demo --no-stdin --render --system 'Be brief.' --messages talk >rendered
	perl -MJSON::PP -0ne 'print decode_json($_)->{prompt}' out | cmp - <(head -c -1 rendered)
	echo 'messages {"messages":[{}]}' | refused /apply-template
	ask GET /props >out
	same '1024 32 demo' "$(json default_generation_settings.n_ctx <out) $(json total_slots <out) $(json model_path <out)"
	# the model recommends the temperature
	same '0.6 40' "$(json default_generation_settings.params.temperature <out) $(json default_generation_settings.params.top_k <out)"
	json chat_template <out | grep -q 'im_start'
	same '<|im_end|>' "$(json eos_token <out)"
	ask POST /props '{}' >out
	same 501 "$(status)"
}

@test "answers are constrained as infer-run constrains them" {
	schema='{"type":"object","properties":{"a":{"enum":["x","y"]}},"required":["a"],"additionalProperties":false}'
	post /v1/chat/completions "{$TALK,\"max_tokens\":40,\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"a\",\"schema\":$schema}}}" >out
	same stop "$(json choices.0.finish_reason <out)"
	json choices.0.message.content <out | json a | grep -qx '[xy]'
	printf '%s\n' 'grammar {"prompt":"a","grammar":"root ::= x"}' 'regex {"prompt":"a","regex":"(?=a)"}' 'choice {"prompt":"a","choice":[]}' \
		'response_format {"prompt":"a","response_format":{"type":"odd"}}' | refused /v1/completions
}

@test "a Lark grammar, by every name of the field; what is wrong in it is said of the field" {
	lark='start: \"fox: \" NAME (\", \" NAME)? END\nNAME: /[A-Z][a-z]{2,4}/\nEND: \".\"'
	is_one() { grep -qxE 'fox: [A-Z][a-z]{2,4}(, [A-Z][a-z]{2,4})?\.'; }
	for kind in "\"structured_outputs\":{\"grammar\":\"$lark\"}" "\"guided_grammar\":\"$lark\"" "\"grammar\":\"$lark\"" "\"ebnf\":\"$lark\""; do
		post /v1/chat/completions "{$TALK,\"max_tokens\":60,$kind}" >out
		json choices.0.message.content <out | is_one
		same stop "$(json choices.0.finish_reason <out)"
		post /v1/completions "{\"prompt\":\"a\",\"max_tokens\":60,$kind}" | json choices.0.text | is_one
		perl "$H" "$SOCK" stream /v1/chat/completions "{$TALK,\"max_tokens\":60,$kind,\"stream\":true}" | sed '$d' | json choices.0.delta.content | grep -v null | tr -d '\n' | sed 's/$/\n/' | is_one
	done
	post /completion "{\"prompt\":\"a\",\"n_predict\":60,\"grammar\":\"$lark\"}" | json content | is_one
	bad='"start: x\nx[temperature=1]: \"a\""'
	printf '%s\n' "structured_outputs {$TALK,\"structured_outputs\":{\"grammar\":$bad}}" "guided_grammar {$TALK,\"guided_grammar\":$bad}" "grammar {$TALK,\"grammar\":$bad}" | refused /v1/chat/completions
	same 3 "$(json error.message <out | grep -c 'line 2 of the grammar: temperature= is not supported')"
}

@test "16 clients at once get what a batch gets" {
	for i in $(seq 32); do
		echo "{\"prompt\":\"A story $i about\",\"temperature\":0,\"max_tokens\":$((i % 7 + 1))}"
	done >bodies
	infer-run -m demo --batch <(perl -pe 's/^\{/{"id":"$.","raw":true,/' bodies) --ordered >batch
	perl "$H" "$SOCK" many 16 /v1/completions <bodies >answers
	same "$(json text <batch)" "$(json choices.0.text <answers)"
	same "$(json usage.completion_tokens <batch)" "$(json usage.completion_tokens <answers)"
}

@test "keys: one of several, read again on SIGHUP, kept where the file is damaged; what is public" {
	printf '# ours\nfirst-key\n\n second-key \n' >keys
	serve -m "$M" --api-key-file keys
	own ask GET /health >out
	own ask GET /v1/models >out
	same 200 "$(status)"
	own ask POST /tokenize '{}' >out
	same '401 invalid_api_key Bearer' "$(status) $(json error.code <out) $(field www-authenticate)"
	own ask GET /metrics >out
	same 401 "$(status)"
	for h in 'Authorization: Bearer first-key' 'authorization: bearer second-key' 'X-Api-Key: second-key'; do
		own ask POST /tokenize '{}' "$h" >out
		same 200 "$(status)"
	done
	for h in 'Authorization: Bearer first-ke' 'Authorization: Bearer first-keyy' 'Authorization: Basic first-key' 'X-Api-Key: # ours'; do
		own ask POST /tokenize '{}' "$h" >out
		same 401 "$(status)"
	done
	echo third-key >keys
	kill -HUP $PID
	for _ in $(seq 1200); do
		own ask POST /tokenize '{}' 'X-Api-Key: third-key' >out
		[ "$(status)" != 200 ] || break
		sleep 0.1
	done
	same 200 "$(status)"
	own ask POST /tokenize '{}' 'X-Api-Key: first-key' >out
	same 401 "$(status)"
	: >keys
	kill -HUP $PID
	up said
	grep -q 'the API keys stay as they were: keys: must contain at least one API key' said
	own ask POST /tokenize '{}' 'X-Api-Key: third-key' >out
	same 200 "$(status)"
}

@test "slow senders and those who leave in the middle: 408, or an end; the server goes on" {
	serve -m "$M" --header-timeout 1 --body-timeout 1
	printf 'POST /tokenize HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{' | own send >out
	grep -qa '^HTTP/1.1 408 Request Timeout' out
	grep -qa '"type":"timeout_error"' out
	printf 'GET /hea' | own send >out
	[ ! -s out ]
	for _ in 1 2 3; do
		timeout 0.2 perl "$H" own send <<<$'POST /tokenize HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{' || :
	done
	same ok "$(own ask GET /health | json status)"
}

# sequences that are computed
processing() { own ask GET /health | json slots_processing; }
until_idle() { until_same 0 processing; }
# until one is computed; it fails if PID, the client, ends before
until_busy() # PID
{
	while [ "$(processing)" = 0 ]; do
		kill -0 "$1" 2>/dev/null || return 1
	done
}

@test "a client that goes ends its request, whole or streamed; others are not touched; the gauges go back" {
	slow_model slow.gguf --layers 8 --embd 256
	serve -m slow.gguf
	long='{"prompt":"the","max_tokens":90000,"ignore_eos":true'
	own leave 3 /v1/completions "$long,\"stream\":true,\"n\":2}"
	until_idle
	perl "$H" own ask POST /v1/completions "$long}" >out &
	until_busy $!
	kill $!
	wait $! || :
	until_idle
	until_same 0 gauge num_requests_running
	until_same 0 gauge num_requests_waiting
	until_same 2 gauge request_success_total cancelled
	until_same 2 gauge http_requests_total 499
	own leave 0 /v1/completions "$long}"
	until_idle
	# one reads nothing: it is computed to its end, and another does not wait for it
	own idle /v1/completions '{"prompt":"the","max_tokens":20,"ignore_eos":true,"stream":true}' 2 >events &
	own ask POST /v1/completions '{"prompt":"the of","max_tokens":2,"ignore_eos":true}' >out
	same 2 "$(json usage.completion_tokens <out)"
	wait $!
	[ "$(cat events)" -ge 3 ]
}

@test "more requests than may wait: 429 with Retry-After" {
	slow_model slow.gguf --layers 8 --embd 256
	serve -m slow.gguf --max-queue 0
	# with answers so long that none ends before all are asked for
	refused_8()
	{
		for _ in $(seq 40); do
			echo '{"prompt":"the","max_tokens":'"$1"',"ignore_eos":true}'
		done | own many 40 /v1/completions >out
		[ "$(grep -c '"code":"rate_limit_exceeded"' out)" = 8 ]
	}
	doubled 10 80000 refused_8
	same 32 "$(grep -c '"object":"text_completion"' out)"
}

@test "SIGTERM: new requests are refused, those that run end, then code 0; the second, or the time, cuts them" {
	slow_model slow.gguf --layers 8 --embd 256
	serve -m slow.gguf --drain 600
	runs()
	{
		own stream /v1/completions '{"prompt":"the","max_tokens":'"$1"',"ignore_eos":true,"stream":true}' >events 2>why &
		client=$!
		until_busy $client
	}
	doubled 40 80000 runs
	kill -TERM $PID
	wait $client
	same '[DONE]' "$(tail -n 1 events)"
	same length "$(tail -n 2 events | head -n 1 | json choices.0.finish_reason)"
	rc=0
	wait $PID || rc=$?
	same 0 "$rc"
	[ ! -e own ]
	serve -m slow.gguf --drain 0
	own stream /v1/completions '{"prompt":"the","max_tokens":90000,"ignore_eos":true,"stream":true}' >events 2>why &
	client=$!
	until_busy $client
	kill -TERM $PID
	wait $client
	same 'unavailable_error' "$(tail -n 2 events | head -n 1 | json error.type)"
	wait $PID
	PID=
}

@test "SIGINT ends it by the signal, and its socket goes; one that a dead process left is replaced" {
	serve -m "$M"
	end_server
	[ -e own ]
	serve -m "$M"
	same ok "$(own ask GET /health | json status)"
	fails 1 'own: Address already in use' infer-serve -m "$M" --listen unix:own
	kill -INT $PID
	rc=0
	wait $PID || rc=$?
	same 130 "$rc"
	[ ! -e own ]
	PID=
}

@test "counts: ten requests of ten tokens, to the last one" {
	serve -m "$M" --access-log log
	for i in $(seq 10); do echo "{\"prompt\":[$i,2,3],\"max_tokens\":10,\"ignore_eos\":true}"; done | own many 4 /v1/completions >out
	own ask GET /metrics >m
	of() { sed -n "s/^infer_$1{[^}]*} //p" m; }
	for h in time_to_first_token_seconds e2e_request_latency_seconds request_queue_time_seconds request_prefill_time_seconds \
		request_decode_time_seconds request_prompt_tokens request_generation_tokens; do
		same "$h 10" "$h $(of ${h}_count)"
	done
	same '90 30 100 30' "$(of inter_token_latency_seconds_count) $(of prompt_tokens_total) $(of generation_tokens_total) $(of request_prompt_tokens_sum)"
	same 10 "$(sed -n 's/^infer_request_success_total{.*"length"} //p' m)"
	# every family has its lines, every histogram grows to its count
	perl -ne '
		if (/^# TYPE (\w+) (\w+)$/) { $type{$1} = $2 }
		elsif (/^(\w+)(?:\{(.*)\})? (\S+)$/) {
			my ($n, $l, $v) = ($1, $2, $3);
			if ($n =~ /^(\w+)_bucket$/ && $type{$1}) { die "$_" if $v < ($last{$1} // 0); $last{$1} = $v }
			elsif ($n =~ /^(\w+)_count$/ && $type{$1}) { die "$_" if $v != $last{$1} }
			elsif ($n =~ /^(\w+)_sum$/ && $type{$1}) { }
			else { die "$_" unless $type{$n}; die "$_" if $type{$n} eq "counter" && $n !~ /_total$/ }
		} elsif (!/^# HELP /) { die "no line of Prometheus: $_" }' m
	same 10 "$(grep -c '"path":"/v1/completions"' log)"
	same 10 "$(grep /v1/completions log | json completion_tokens | sort -u)"
	same '1 access' "$(head -n 1 log | json v) $(json kind <log | sort -u)"
	# the manual has each of them
	for name in $(ask GET /metrics | sed -n 's/^# TYPE \([^ ]*\) .*/\1/p'); do grep -qx ".It Li $name" "$TOP/man/infer-serve.1"; done
}

@test "a port of TCP that the system chose; addresses that are none" {
	env --default-signal=TERM infer-serve -q -m "$M" --listen 127.0.0.1:0 >up 2>said 3>&- &
	PID=$!
	up up
	port=$(sed -n 's|^http://127\.0\.0\.1:\([0-9]*\)$|\1|p' up)
	perl -MIO::Socket::INET -e '
		my $s = IO::Socket::INET->new("127.0.0.1:$ARGV[0]") or die;
		print $s "GET /health HTTP/1.0\r\n\r\n"; print while <$s>' "$port" | grep -q '"status":"ok"'
	fails 1 'Address already in use' infer-serve -m "$M" --listen "127.0.0.1:$port"
	for bad in 127.0.0.1 127.0.0.1:x ::1:80 '[::1]' unix: "unix:$(perl -e 'print "a" x 200')"; do
		fails 2 'listen' infer-serve -m "$M" --listen "$bad"
	done
	fails 2 'no model' env -u INFER_MODEL infer-serve
	fails 2 "'x' is not an option; if it is a model: -m x" infer-serve -m "$M" x
	fails 1 'nokeys' infer-serve -m "$M" --api-key-file nokeys
	printf 'a key\n' >bad
	fails 3 'bad: line 1: a key must have no space' infer-serve -m "$M" --api-key-file bad
	kill -TERM $PID
	wait $PID
	PID=
}

@test "embeddings: texts and ids, alone and in a list; base64 of the same numbers; dimensions; usage; refusals by name" {
	post /v1/embeddings '{"input":"a fox"}' >out
	same 'list embedding 0 inferutils-demo' "$(json object <out) $(json data.0.object <out) $(json data.0.index <out) $(json model <out)"
	same "$(json data.0.embedding <out | tr -d '[]' | tr , ' ')" "$(infer-run -m demo --embed --no-stdin "a fox")"
	post /tokenize '{"content":"a fox","add_special":true}' | json tokens >ids
	same "$(json data.0.embedding <out)" "$(post /v1/embeddings "{\"input\":$(cat ids)}" | json data.0.embedding)"
	post /v1/embeddings "{\"input\":[\"x\",\"a fox\",$(cat ids)],\"model\":\"any\",\"user\":\"u\"}" >more
	same "3 2 $(json data.0.embedding <out)" "$(json data.# <more) $(json data.2.index <more) $(json data.1.embedding <more)"
	same "$(json data.1.embedding <more)" "$(json data.2.embedding <more)"
	same "$(json usage.prompt_tokens <more)" "$(json usage.total_tokens <more)"
	same "$(json usage.prompt_tokens <out)" "$(tr ',' '\n' <ids | wc -l)"
	post /embeddings '{"input":"a fox","encoding_format":"base64"}' | json data.0.embedding |
		perl -MMIME::Base64 -ne 'print "[", join(",", map { $x = sprintf "%.9g", $_; $x } unpack "f<*", decode_base64($_)), "]\n"' >bits
	same "$(json data.0.embedding <out)" "$(cat bits)"
	post /v1/embeddings '{"input":"a fox","dimensions":5}' | json data.0.embedding >five
	perl -ne '@v = /[-.\de]+/g; $s += $_ ** 2 for @v; die "@v" if @v != 5 || abs($s - 1) > 1e-6' five
	refused /v1/embeddings <<-'E'
		input {}
		input {"input":7}
		input {"input":[]}
		input {"input":[[]]}
		input {"input":["a",{}]}
		input {"input":[1,true]}
		input {"input":[[-1]]}
		encoding_format {"input":"a","encoding_format":"hex"}
		dimensions {"input":"a","dimensions":0}
		dimensions {"input":"a","dimensions":100000}
		embd_normalize {"input":"a","embd_normalize":3}
		model {"input":"a","model":4}
	E
	perl -e 'print "{\"input\":\"", "fox " x 4000, "\"}"' >long
	perl "$H" "$SOCK" many 1 /v1/embeddings <long >out
	grep -q 'too large' out
	same 'input context_length_exceeded' "$(json error.param <out) $(json error.code <out)"
	post /v1/embeddings '{"input":"a"}' >out
	[ -s out ]
}
