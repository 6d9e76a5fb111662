# infer-serve: adapters given by --lora, in the configuration, and loaded by clients
load lib
load serve

setup_more()
{
	export L=$BATS_FILE_TMPDIR/loras
	mkdir "$L"
	for i in 1 2 3; do mklora -r $((2 * i)) -a $((8 * i)) -s $i -n "ad$i" -t attn_q,attn_v,ffn_down,output "$M" "$L/l$i.gguf"; done
}

post() { own ask POST "$@"; }
# the text of an answer; FIELDS: more fields, and the model
text() { post /v1/completions "{\"prompt\":\"the of and\",\"max_tokens\":12,\"temperature\":0,\"ignore_eos\":true,$1}" | json choices.0.text; }
alone() { infer-run -q -m "$M" --raw --no-stdin -n 12 --temp 0 --ignore-eos "$@" 'the of and'; }
code() { cut -d' ' -f2 <head | head -n 1; }
adapters() { own ask GET /lora-adapters | json "$1" | tr '\n' ' '; }

@test "requests choose adapters by id and by model, and others have those that are applied" {
	serve -m "$M" --alias base --lora "$L/l1.gguf" --lora "$L/l2.gguf=0.5" --lora-init-without-apply
	local base one two
	base=$(alone) one=$(alone --lora "$L/l1.gguf") two=$(alone --lora "$L/l2.gguf=0.5")
	[ "$base" != "$one" ] && [ "$base" != "$two" ] && [ "$one" != "$two" ]
	same "$base" "$(text '"model":"base"')"
	same "$base" "$(text '"model":"any"')"
	same "$one" "$(text '"model":"ad1"')"
	same "$two" "$(text '"model":"ad2"')"
	same "$one" "$(text '"lora":[{"id":0,"scale":1}]')"
	same "$(alone --lora "$L/l2.gguf=2" --lora "$L/l1.gguf=-1")" "$(text '"lora":[{"id":1,"scale":2},{"id":0,"scale":-1}]')"
	same "$base" "$(text '"lora":[]')"
	same "$base" "$(text '"lora":[{"id":0,"scale":0}]')"
	same ad1 "$(post /v1/completions '{"prompt":"a","model":"ad1","max_tokens":1}' | json model)"
	# other APIs
	same "$one" "$(post /completion '{"model":"ad1","prompt":"the of and","n_predict":12,"temperature":0,"ignore_eos":true}' | json content)"
	same "$(infer-run -q -m "$M" --raw --no-stdin -n 12 --temp 0 --lora "$L/l1.gguf" 'the of and')" \
		"$(post /api/generate '{"model":"ad1:latest","prompt":"the of and","raw":true,"stream":false,"options":{"num_predict":12,"temperature":0}}' | json response)"
	same "$(infer-run -q -m "$M" --no-stdin --embed -o jsonl --lora "$L/l2.gguf=0.5" the | json values.3)" \
		"$(post /v1/embeddings '{"model":"ad2","input":"the"}' | json data.0.embedding.3)"
	for p in /v1/chat/completions /v1/messages /v1/responses; do
		local f=messages
		[ $p != /v1/responses ] || f=input
		ask() { post $p "{\"model\":\"$1\",\"$f\":[{\"role\":\"user\",\"content\":\"the of and\"}],\"max_tokens\":12,\"max_output_tokens\":12,\"temperature\":0}"; }
		same ad2 "$(ask ad2 | json model)"
		[ "$(ask ad2 | grep -o '"text":"[^"]*"\|"content":"[^"]*"')" != "$(ask ad1 | grep -o '"text":"[^"]*"\|"content":"[^"]*"')" ]
	done
	# scales for requests that choose none
	same '0 0 ' "$(adapters '0.scale')$(adapters '1.scale')"
	same true "$(post /lora-adapters '[{"id":1,"scale":0.5}]' | json success)"
	same '0 0.5 ' "$(adapters '0.scale')$(adapters '1.scale')"
	same "$two" "$(text '"model":"base"')"
	same "$one" "$(text '"model":"ad1"')"
	post /lora-adapters '[{"id":0,"scale":1}]' >out
	same "$one" "$(text '"model":"base"')"
	# listed after their model
	own ask GET /v1/models >out
	same 'base ad1 ad2' "$(json data.0.id <out) $(json data.1.id <out) $(json data.2.id <out)"
	same "base $L/l2.gguf" "$(json data.2.parent <out) $(json data.2.root <out)"
	same ad2 "$(own ask GET /v1/models/ad2 | json id)"
	own ask GET /api/tags >out
	same 'base:latest ad1:latest ad2:latest base:latest' "$(json models.0.name <out) $(json models.1.name <out) $(json models.2.name <out) $(json models.2.details.parent_model <out)"
	same "$(sha256sum "$L/l2.gguf" | cut -d' ' -f1)" "$(json models.2.digest <out)"
	list() { own ask GET "/v1/models$1" '' 'anthropic-version: 2023-06-01'; }
	list >out
	same 'base ad1 ad2 ad2 false' "$(json data.0.id <out) $(json data.1.id <out) $(json data.2.id <out) $(json last_id <out) $(json has_more <out)"
	list '?limit=1&after_id=base' >out
	same 'ad1 ad1 ad1 true' "$(json data.0.id <out) $(json first_id <out) $(json last_id <out) $(json has_more <out)"
	list '?limit=1&before_id=ad2' >out
	same 'ad1 true' "$(json data.0.id <out) $(json has_more <out)"
	same 'ad1 model' "$(list /ad1 | json id) $(list /ad1 | json type)"
	same 'ad1 ' "$(adapters 0.name)"
}

@test "applied adapters are used from the start" {
	serve -m "$M" --lora "$L/l1.gguf" --lora "$L/l2.gguf=0.5"
	same "$(alone --lora "$L/l1.gguf" --lora "$L/l2.gguf=0.5")" "$(text '"seed":1')"
	same "$(alone)" "$(text '"lora":[]')"
}

@test "what a request cannot choose is refused for the field" {
	serve -m "$M" --lora "$L/l1.gguf"
	SOCK=own
	for p in /v1/completions /v1/chat/completions /completion /v1/embeddings /v1/messages /api/chat; do
		printf '%s\n' 'lora 5' 'lora {}' 'lora [5]' 'lora [{}]' 'lora [{"id":1,"scale":1}]' 'lora [{"id":-1,"scale":1}]' 'lora [{"id":"0","scale":1}]' 'lora [{"id":0}]' \
			'lora [{"id":0,"scale":"1"}]' 'lora [{"id":0,"scale":1e300}]' 'lora [{"id":0,"scale":1},{"id":0,"scale":1}]' 'lora [{"id":0,"scale":1,"x":1}]' |
			sed 's/^\(lora\) \(.*\)$/\1 {"model":"m","prompt":"a","input":"a","messages":[{"role":"user","content":"a"}],"max_tokens":1,"lora":\2}/' |
			perl -pe "s/\"input\":\"a\",// if '$p' ne '/v1/embeddings'; s/\"prompt\":\"a\",// if '$p' =~ /embed|chat|messages/; s/\"messages\":\[[^]]*\],// if '$p' =~ /embed|completion\$|v1.completions/; s/\"max_tokens\":1,// if '$p' =~ /embed|api/" >lines
		cut -d' ' -f2- <lines | perl "$H" own many 1 $p >out
		same 12 "$(grep -c 'lora' out)"
		same 12 "$(grep -c 'error' out)"
	done
	post /v1/completions '{"model":"ad1","prompt":"a","lora":[]}' >out
	same '400 model' "$(code) $(json error.param <out)"
	for b in 5 '{}' '[5]' '[{"id":0}]' '[{"id":7,"scale":1}]' '[{"id":0,"scale":1},{"id":0,"scale":1}]' '[{"id":0,"scale":1e300}]' '[{"id":0,"scale":1,"x":1}]' '['; do
		post /lora-adapters "$b" >out
		same "400 $b" "$(code) $b"
	done
	# off unless --lora-dir is given
	post /v1/load_lora_adapter '{"lora_name":"x","lora_path":"l1.gguf"}' >out
	same 501 "$(code)"
	grep -q 'needs --lora-dir' out
	post /v1/unload_lora_adapter '{"lora_name":"ad1"}' >out
	same 501 "$(code)"
	fails 2 '--max-lora-rank goes with --lora-dir only' infer-serve -m "$M" --max-lora-rank 8
}

@test "clients load and unload adapters of the folder, and of no other" {
	printf 'mine operator\nother group=b\n' >keys
	cp "$L/l1.gguf" outside.gguf
	ln -s "$PWD/outside.gguf" "$L/link.gguf"
	mkmodel "$L/model.gguf"
	mklora -r 65 "$M" "$L/wide.gguf"
	serve -m "$M" --alias base --api-key-file keys --lora-dir "$L" --lora "$L/l3.gguf" --lora-init-without-apply
	load() { post /v1/load_lora_adapter "{\"lora_name\":\"$1\",\"lora_path\":\"$2\"${3:-}}" 'X-Api-Key: mine' >out; }
	unload() { post /v1/unload_lora_adapter "{\"lora_name\":\"$1\"}" 'X-Api-Key: mine' >out; }
	said() { post /v1/completions "{\"prompt\":\"the of and\",\"max_tokens\":12,\"temperature\":0,\"ignore_eos\":true,\"model\":\"$1\"}" 'X-Api-Key: other' | json choices.0.text; }
	load sql l1.gguf
	same 200 "$(code)"
	same "$(alone --lora "$L/l1.gguf")" "$(said sql)"
	load sql l2.gguf
	same '400 lora_name' "$(code) $(json error.param <out)"
	load sql l2.gguf ',"load_inplace":true'
	same 200 "$(code)"
	same "$(alone --lora "$L/l2.gguf")" "$(said sql)"
	load whole "$L/l3.gguf"
	same 200 "$(code)"
	for p in ../loras/../outside.gguf "$PWD/outside.gguf" link.gguf . .. '' none.gguf model.gguf wide.gguf; do
		load bad "$p"
		same "400 lora_path $p" "$(code) $(json error.param <out) $p"
	done
	grep -q 'rank of the adapter is 65: at most 64' out
	for n in base ad3 ''; do
		load "$n" l1.gguf
		same "400 lora_name $n" "$(code) $(json error.param <out) $n"
	done
	for b in '{}' '{"lora_name":1,"lora_path":"l1.gguf"}' '{"lora_name":"a","lora_path":5}' '{"lora_name":"a","lora_path":"l1.gguf","load_inplace":1}' \
		'{"lora_name":"a","lora_path":"l1.gguf","is_3d_lora_weight":true}' '[]' '{'; do
		post /v1/load_lora_adapter "$b" 'X-Api-Key: mine' >out
		same "400 $b" "$(code) $b"
	done
	# not for every key
	for e in load unload; do
		post /v1/${e}_lora_adapter '{"lora_name":"x","lora_path":"l1.gguf"}' 'X-Api-Key: other' >out
		same 403 "$(code)"
	done
	post /lora-adapters '[]' 'X-Api-Key: other' >out
	same 403 "$(code)"
	unload whole
	same 200 "$(code)"
	unload whole
	same '404 lora_name' "$(code) $(json error.param <out)"
	# a name that is gone is no adapter: every name is the model's without --config
	same "$(alone)" "$(said whole)"
}

@test "64 adapters are loaded and unloaded while requests run: none fails, and the memory returns" {
	local i
	# a sanitizer would keep what is freed
	export ASAN_OPTIONS=quarantine_size_mb=0:thread_local_quarantine_size_kb=0
	mkdir many
	for i in $(seq 64); do
		mklora -r 48 -a 192 -s "$i" -t attn_q,attn_v "$M" "many/$i.gguf"
		echo "{\"lora_name\":\"n$i\",\"lora_path\":\"$i.gguf\"}" >>loads
		echo "{\"lora_name\":\"n$i\"}" >>unloads
	done
	serve -m "$M" --alias base --lora-dir many
	for i in $(seq 400); do echo "{\"prompt\":\"the of and\",\"max_tokens\":24,\"ignore_eos\":true,\"model\":\"base\"}"; done >load.jsonl
	perl "$H" own many 8 /v1/completions <load.jsonl >answers 3>&- &
	local client=$!
	cycle()
	{
		perl "$H" own many 4 /v1/load_lora_adapter <loads >>loaded
		same 64 "$(own ask GET /lora-adapters | json '#')"
		for i in 8 64; do text "\"model\":\"n$i\"" >"said$i"; done
		perl "$H" own many 4 /v1/unload_lora_adapter <unloads >>unloaded
		same '[]' "$(own ask GET /lora-adapters)"
	}
	memory() { own ask GET /metrics | sed -n 's/^process_resident_memory_bytes //p'; }
	cycle
	local first
	first=$(memory)
	cycle
	cycle
	wait "$client"
	same 192 "$(grep -c 'is loaded' loaded)"
	same 192 "$(grep -c 'is unloaded' unloaded)"
	same 400 "$(grep -c '"completion_tokens":24' answers)"
	for i in 8 64; do same "$(alone --lora "many/$i.gguf")" "$(cat "said$i")"; done
	# an adapter has 90 kB: two cycles that kept theirs would show
	[ "$(memory)" -lt $((first + 64 * 2 * 45000)) ]
}

@test "a request keeps an adapter that is unloaded while it runs" {
	mkdir one
	slow_model slow.gguf --layers 4 --embd 256
	mklora -r 8 -a 32 -t attn_v,ffn_down slow.gguf one/a.gguf
	serve -m slow.gguf --lora-dir one
	post /v1/load_lora_adapter '{"lora_name":"a","lora_path":"a.gguf"}' >out
	own events /v1/completions '{"model":"a","prompt":"the of and","max_tokens":200,"temperature":0,"ignore_eos":true,"stream":true}' >events 3>&- &
	local client=$!
	# until the engine has it; a client that has ended before is compared all the same
	while kill -0 "$client" 2>/dev/null && [ "$(gauge num_requests_running)" != 1 ]; do :; done
	post /v1/unload_lora_adapter '{"lora_name":"a"}' >out
	same 200 "$(code)"
	wait "$client"
	same "$(infer-run -q -m slow.gguf --raw --no-stdin --temp 0 --ignore-eos -n 200 --lora one/a.gguf 'the of and' | tr -d '\n' | md5sum)" \
		"$(grep -v DONE events | json choices.0.text 2>/dev/null | tr -d '\n' | md5sum)"
}

@test "adapters of the configuration have names, and change without their model" {
	conf() {
		cat >serve.yaml <<-EOF
			infer-serve: 1
			memory: 1G
			folders: [$L]
			models:
			  one:
			    model: $M
			    load: start
			    adapters:
			$(printf '      - {name: %s, path: %s, scale: %s}\n' "$@")
			  two:
			    model: $M
			    adapters: [{name: sum, path: $L/l3.gguf}]
		EOF
	}
	states() { own ask GET /v1/models | grep -o '"value":"[a-z]*"' | cut -d'"' -f4 | tr '\n' ' '; }
	conf sql "$L/l1.gguf" 1 chat "$L/l2.gguf" 0.5
	serve --config serve.yaml -v
	same 'loaded unloaded ' "$(states)"
	own ask GET /v1/models >out
	same 'one sql chat two sum' "$(grep -o '"id":"[a-z]*"' out | cut -d'"' -f4 | paste -sd' ')"
	same "$(alone --lora "$L/l1.gguf")" "$(text '"model":"sql"')"
	same "$(alone)" "$(text '"model":"one"')"
	same 'loaded unloaded ' "$(states)"
	same "$(alone --lora "$L/l3.gguf")" "$(text '"model":"sum"')" # loads its model
	same 'loaded loaded ' "$(states)"
	post /v1/completions '{"model":"none","prompt":"a"}' >out
	same 404 "$(code)"
	conf sql "$L/l3.gguf" 1 extra "$L/l2.gguf" 0.5
	kill -HUP "$PID"
	until_same 'one sql extra two sum' eval 'own ask GET /v1/models | grep -o "\"id\":\"[a-z]*\"" | cut -d"\"" -f4 | paste -sd" "'
	until_same "$(alone --lora "$L/l3.gguf")" text '"model":"sql"'
	same "$(alone --lora "$L/l2.gguf=0.5")" "$(text '"model":"extra"')"
	post /v1/completions '{"model":"chat","prompt":"a"}' >out
	same 404 "$(code)"
	same 1 "$(grep -c 'one: loaded in' said)" # once
	end_server
	bad() { # TEXT SAYS
		printf 'infer-serve: 1\nmodels:\n  one:\n    model: %s\n    adapters: %s\n' "$M" "$1" >bad.yaml
		fails 1 "$2" infer-serve --config bad.yaml || fails 2 "$2" infer-serve --config bad.yaml || fails 3 "$2" infer-serve --config bad.yaml
	}
	bad 5 'adapters must be a list'
	bad '[{name: a}]' 'needs the key path'
	bad "[{path: $L/l1.gguf}]" 'needs the key name'
	bad "[{name: one, path: $L/l1.gguf}]" "called 'one'"
	bad "[{name: a, path: $L/l1.gguf}, {name: a, path: $L/l2.gguf}]" "called 'a'"
	bad "[{name: a, path: $L/none}]" 'No such file'
	bad "[{name: a, path: $L/l1.gguf, scale: x}]" 'scale'
	bad "[{name: a, path: $L/l1.gguf, rank: 1}]" "'rank'"
}
