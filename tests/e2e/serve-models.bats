# infer-serve --config: several models in one process
load lib
load serve

post() { own ask POST "$@"; }
ask_for() { post /v1/completions "{\"model\":\"$1\",\"prompt\":\"the of\",\"max_tokens\":3,\"seed\":1}" "${@:2}"; }
# the state of each model, in one line
states() { own ask GET /v1/models | grep -o '"value":"[a-z]*"' | cut -d'"' -f4 | tr '\n' ' '; }
until_states() { until_same "$1" states; }

@test "names and aliases; loaded on demand, unloaded when idle; keys, limits and defaults of each; what is listed" {
	printf 'mine\nwatch operator\n' >keys
	cat >serve.yaml <<-EOF
		infer-serve: 1
		memory: 1G
		models:
		  one:
		    model: $M
		    aliases: [gpt, "the first"]
		    temp: 0
		    max-tokens: 7
		  two:
		    model: $SPM
		    aliases: other
		    unload: 1
		    api-key-file: keys
		  three: {model: demo, load: start, max-queue: 0}
	EOF
	serve --config serve.yaml
	same 'unloaded unloaded loaded ' "$(states)"
	same 'one two three' "$(own ask GET /v1/models | grep -o '"id":"[a-z]*"' | cut -d'"' -f4 | paste -sd' ')"
	same one "$(own ask GET /v1/models/the%20first | json id)"
	# what they answer is what each answers alone
	same "one$(infer-run -m "$M" --raw -n 3 --seed 1 --temp 0 'the of')" "$(ask_for gpt >out; json model <out)$(json choices.0.text <out)"
	same 7 "$(post /v1/completions '{"prompt":"the of","ignore_eos":true}' | json usage.completion_tokens)"
	same 'loaded unloaded loaded ' "$(states)"
	ask_for other >out
	same '401 invalid_api_key model' "$(status) $(json error.code <out) $(json error.param <out)"
	same 'unloaded' "$(states | cut -d' ' -f2)"
	same "two$(infer-run -m "$SPM" --raw -n 3 --seed 1 'the of')" "$(ask_for other 'X-Api-Key: mine' >out; json model <out)$(json choices.0.text <out)"
	ask_for four >out
	same "404 not_found_error model_not_found model there is no model 'four'" "$(status) $(json error.type <out) $(json error.code <out) $(json error.param <out) $(json error.message <out)"
	same 400 "$(post /v1/completions '{"model":1,"prompt":"the"}' >out; status)"
	same 400 "$(post /v1/completions '{"model":' >out; status)"
	same 'not_found_error' "$(post /v1/messages '{"model":"x","max_tokens":1,"messages":[{"role":"user","content":"a"}]}' | json error.type)"
	same "$M" "$(own ask GET '/props?model=gpt' | json model_path)"
	same 64 "$(own ask GET /slots | grep -o '"model":"\(one\|three\)"' | wc -l)"
	same "$(echo the of | INFER_SERVER=unix:own infer-run -m "$SPM" --raw -n 3 --seed 1 2>&1 | grep -o 'the model .*')" "the model 'two' needs an API key"
	same "$(echo the of | infer-run -m "$M" --raw -n 3 --seed 1 --temp 0)" "$(echo the of | infer-run --server unix:own -m "$M" --raw -n 3 --seed 1 --temp 0)"
	# 32 run, and no more may wait
	for _ in $(seq 60); do echo '{"model":"three","prompt":"the of","max_tokens":100,"ignore_eos":true}'; done >bodies
	own many 60 /v1/completions <bodies >out
	[ "$(grep -c '"object":"text_completion"' out)" -ge 32 ]
	[ "$(grep -c "requests for 'three' run or wait" out)" -ge 1 ]
	until_states 'loaded unloaded loaded '
	own ask GET /metrics '' 'X-Api-Key: watch' >metrics
	same '1 0 1' "$(sed -n 's/^infer_model_loaded{.*} //p' metrics | paste -sd' ')"
	# each family once, whatever the number of models
	[ -z "$(grep '^# TYPE' metrics | sort | uniq -d)" ]
	same 'model_name="two",finished_reason="length"} 1' "$(sed -n 's/^infer_request_success_total{\(model_name="two",finished_reason="length".*\)/\1/p' metrics)"
}

@test "memory is accounted before a model is loaded: the one that is idle makes room, one that is busy does not" {
	slow_model slow.gguf --layers 8 --embd 256
	# the smaller the file, the more it takes to fill the memory
	local kv=${TEST_FAST:+42M}
	kv=${kv:-30M}
	cat >serve.yaml <<-EOF
		infer-serve: 1
		memory: 72M
		models:
		  a: {model: $M, kv-bytes: 4M}
		  b: {model: $SPM, kv-bytes: 4M}
		  slow: {model: slow.gguf, kv-bytes: $kv}
		  huge: {model: $M, kv-bytes: 99M}
	EOF
	serve --config serve.yaml
	ask_for a >one
	ask_for b >out
	same 'loaded loaded unloaded unloaded ' "$(states)"
	# with an answer so long that a is asked for before its end
	is_busy()
	{
		perl "$H" own stream /v1/completions '{"model":"slow","prompt":"the of","max_tokens":'"$1"',"ignore_eos":true,"stream":true}' >events &
		client=$!
		until [ "$(states)" = 'unloaded unloaded loaded unloaded ' ]; do
			kill -0 $client 2>/dev/null || return 1
		done
		ask_for a >out
		[ "$(status)" = 503 ] || { wait $client; return 1; }
	}
	doubled 100 3200 is_busy
	same '503 unavailable_error 5' "$(status) $(json error.type <out) $(sed -n 's/^retry-after: //Ip' head)"
	ask_for huge >out
	same '500 huge needs' "$(status) $(json error.message <out | grep -o 'huge needs')"
	wait $client
	grep -q '"finish_reason":"length"' events
	same "$(json choices.0.text <one)" "$(ask_for a | json choices.0.text)"
}

@test "SIGHUP: new models come, others go, those that are said in the same words stay; a bad file changes nothing" {
	printf 'infer-serve: 1\nmodels:\n  a: {model: %s}\n  b: {model: %s}\n' "$M" "$SPM" >serve.yaml
	serve --config serve.yaml
	ask_for a >a
	ask_for b >out
	printf 'infer-serve: 1\nmodels:\n  c: {model: %s, load: start}\n  a: {model: %s}\n' "$SPM" "$M" >serve.yaml
	kill -HUP $PID
	until_states 'loaded loaded '
	same '404 200' "$(ask_for b >out; status) $(ask_for c >out; status)"
	same "$(json choices.0.text <a)" "$(ask_for a >out; json choices.0.text <out)"
	same 6 "$(own ask GET /metrics | sed -n 's/^infer_generation_tokens_total{model_name="a"} //p')"
	printf 'infer-serve: 1\nmodels:\n  a: {model: %s, tempp: 1}\n' "$M" >serve.yaml
	kill -HUP $PID
	for _ in $(seq 2400); do
		[ ! -s said ] || break
		sleep 0.05
	done
	grep -q "the models stay as they were: serve.yaml: line 3, column .*: no key is called 'tempp'" said
	same 200 "$(ask_for c >out; status)"
	kill -TERM $PID
	rc=0
	wait $PID || rc=$?
	same 0 "$rc"
}

@test "SIGHUP: a model in a folder that was not named at the start is refused by name, and one below folders comes" {
	far=$(mktemp -d "$BATS_RUN_TMPDIR/far.XXXXXX") near=$(mktemp -d "$BATS_RUN_TMPDIR/near.XXXXXX")
	cp "$M" "$far/m.gguf"
	cp "$M" "$near/m.gguf"
	printf 'infer-serve: 1\nfolders: [%s]\nmodels:\n  a: {model: %s}\n' "$near" "$M" >serve.yaml
	serve -v --config serve.yaml
	grep -q 'files stay in reach' said && skip "needs a kernel with Landlock and seccomp, and a build without sanitizers"
	printf '  b: {model: %s}\n' "$far/m.gguf" >>serve.yaml
	kill -HUP $PID
	for _ in $(seq 2400); do
		! grep -q 'stay as they were' said || break
		sleep 0.05
	done
	grep -q "the models stay as they were: serve.yaml: line 5, column .*: $far/m.gguf cannot be read.*: name it under folders, and start again" said
	sed -i "s|$far|$near|" serve.yaml
	kill -HUP $PID
	until_states 'unloaded unloaded '
	same 200 "$(ask_for b >out; status)"
}

@test "configurations that are refused: the line, the column and what is wrong" {
	refused_config()
	{
		printf '%b' "$2" >bad.yaml
		fails 3 "bad.yaml: $1" infer-serve --config bad.yaml --listen unix:never
	}
	refused_config 'line 1, column 1: it is empty' ''
	refused_config 'line 1, column 1: the key infer-serve is missing' 'models: {a: {model: demo}}'
	refused_config 'line 1, column 14: version 2' 'infer-serve: 2\nmodels: {}'
	refused_config "line 2, column 10: '/never' is not a folder" 'infer-serve: 1\nfolders: /never\nmodels: {a: {model: demo}}'
	refused_config 'line 2, column 9: models must have at least one entry' 'infer-serve: 1\nmodels: {}'
	refused_config "line 2, column 1: no key is called 'model' here" 'infer-serve: 1\nmodel: {}'
	refused_config 'line 3, column 6: a model needs the key model' 'infer-serve: 1\nmodels:\n  a: {temp: 1}'
	refused_config "line 5, column 13: temp: 'hot' is not a number" 'infer-serve: 1\nmodels:\n  a:\n    model: demo\n    temp:   hot'
	refused_config "line 4, column 3: two models are called 'x'" 'infer-serve: 1\nmodels:\n  a: {model: demo, aliases: x}\n  x: {model: demo}'
	refused_config "line 3, column 20: no key is called 'listen' here" 'infer-serve: 1\nmodels:\n  a: {model: demo, listen: x}'
	refused_config 'line 3, column 26: load must be start or demand' 'infer-serve: 1\nmodels:\n  a: {model: demo, load: x}'
	refused_config 'line 2, column 9: memory: ' 'infer-serve: 1\nmemory: x\nmodels: {}'
	fails 2 'config names the models: --model does not go with it' infer-serve --config bad.yaml -m demo
	fails 1 'no.yaml' infer-serve --config no.yaml
	printf 'infer-serve: 1\nmodels:\n  a: {model: none.gguf, load: start}' >bad.yaml
	fails 1 'none.gguf' infer-serve --config bad.yaml --listen unix:never
	# a file that is not there is said at the start, not at the first request
	printf 'infer-serve: 1\nmodels:\n  a: {model: demo}\n  b: {model: none/x.gguf}\n' >bad.yaml
	fails 1 'bad.yaml: line 4, column 6: none/x.gguf: No such file or directory$' infer-serve --config bad.yaml --listen unix:never
}
