# infer-run --lora: adapters of the model, for one prompt, batches, scores and embeddings; in records
load lib

setup_more()
{
	export A=$BATS_FILE_TMPDIR/a.gguf C=$BATS_FILE_TMPDIR/c.gguf
	mklora -r 8 -a 24 -s 1 -n sql -t attn_q,attn_v,ffn_down,attn_output "$M" "$A"
	mklora -r 3 -a 12 -s 2 -t attn_v,ffn_up,output "$M" "$C"
}

go() { infer-run -q --no-stdin --temp 0 --ignore-eos --logprobs 0 -o jsonl -n 12 "$@" 'the of and'; }
# the log-probabilities of what is generated

said() { go "$@" | json logprobs | tr -d '\n'; }

@test "an adapter changes the answer, as far as its scale says; with scale 0 the answer is the model's" {
	local base
	base=$(said)
	same "$base" "$(said --lora "$A=0")"
	same "$base" "$(said --lora "$A=-0.0" --lora "$C=0")"
	[ "$base" != "$(said --lora "$A")" ]
	[ "$(said --lora "$A=0.5")" != "$(said --lora "$A")" ]
	same "$(said --lora "$A=1")" "$(said --lora "$A")"
	[ "$(said --lora "$A" --lora "$C")" != "$(said --lora "$A")" ]
	# a name that ends like a scale
	cp "$A" 'a=2'
	fails 1 'a: No such file' infer-run --no-stdin --lora 'a=2' the
	same "$(said --lora "$A=0.5")" "$(said --lora 'a=2=0.5')"
	cp "$A" 'a=x'
	same "$(said --lora "$A")" "$(said --lora 'a=x')"
}

@test "requests of a batch choose among the adapters, and each answers as it does alone" {
	local r='"prompt":"the of and","max_tokens":12,"logprobs":0,"temperature":0,"ignore_eos":true'
	printf '%s\n' "{\"id\":\"a\",$r}" "{\"id\":\"b\",$r,\"lora\":[]}" "{\"id\":\"c\",$r,\"lora\":[{\"id\":1,\"scale\":2}]}" \
		"{\"id\":\"d\",$r,\"lora\":[{\"name\":\"sql\",\"scale\":0.5},{\"id\":1,\"scale\":1}]}" "{\"id\":\"e\",$r,\"model\":\"c\"}" \
		"{\"id\":\"f\",$r,\"lora\":[{\"id\":2,\"scale\":1}]}" >in
	infer-run -q --batch in --ordered --lora "$A" --lora "$C=0" --with-request >out || :
	got() { grep "\"id\":\"$1\"" out | json logprobs | tr -d '\n'; }
	same "$(said --lora "$A")" "$(got a)"
	same "$(said)" "$(got b)"
	same "$(said --lora "$C=2")" "$(got c)"
	same "$(said --lora "$A=0.5" --lora "$C")" "$(got d)"
	same "$(said)" "$(got e)" # its scale is 0
	same 'lora lora: there is no adapter with id 2' "$(grep '"id":"f"' out | json param) $(grep '"id":"f"' out | json message)"
	same 2 "$(grep '"id":"d"' out | json 'run.adapters.#')"
	same "sql 0.5 $(sha256sum <"$A" | cut -d' ' -f1)" \
		"$(grep '"id":"d"' out | json run.adapters.0.name) $(grep '"id":"d"' out | json run.adapters.0.scale) $(grep '"id":"d"' out | json run.adapters.0.sha256)"
	# again: each record names its own
	grep -v '"f"' out >records
	infer-run -q --replay records --lora "$C" --lora "$A" >/dev/null
	head -n 1 records >one
	fails 2 "there is no adapter 'sql' with sha256" infer-run -q --replay one
	fails 2 "there is no adapter 'sql' with sha256" infer-run -q --replay one --lora "$C"
}

@test "lines in OpenAI's format name an adapter as their model" {
	echo '{"custom_id":"x","method":"POST","url":"/v1/completions","body":{"model":"sql","prompt":"the of and","max_tokens":12,"temperature":0,"ignore_eos":true}}' >in
	infer-run -q --batch in --lora "$C" --lora "$A=0.5" >out
	same sql "$(json response.body.model <out)"
	same "$(go --lora "$A=0.5" | json text)" "$(json response.body.choices.0.text <out)"
}

@test "scores and embeddings use adapters; a batch is not resumed with others" {
	local s
	s=$(infer-run -q --score --no-stdin 'the of and' | tail -n 1)
	same "$s" "$(infer-run -q --score --no-stdin --lora "$A=0" 'the of and' | tail -n 1)"
	[ "$s" != "$(infer-run -q --score --no-stdin --lora "$A" 'the of and' | tail -n 1)" ]
	infer-run -q --score --no-stdin -o jsonl --lora "$A=2" 'the of and' >score
	same 'sql 2' "$(json run.adapters.0.name <score) $(json run.adapters.0.scale <score)"
	infer-run -q --replay score --lora "$A" >/dev/null
	fails 2 'an adapter that --lora does not give: sql' infer-run -q --replay score --lora "$C"
	[ "$(infer-run -q --embed --no-stdin the)" != "$(infer-run -q --embed --no-stdin --lora "$A" the)" ]
	echo '{"prompt":"the","max_tokens":2}' >in
	infer-run -q --batch in --resume out.jsonl --lora "$A"
	infer-run -q --batch in --resume out.jsonl --lora "$A"
	fails 2 'other' infer-run -q --batch in --resume out.jsonl --lora "$A=2"
	fails 2 'other' infer-run -q --batch in --resume out.jsonl
}

@test "a conversation uses adapters" {
	mkmodel --chat --vocab 600 chat.gguf
	mklora -r 4 -a 16 -t attn_v,ffn_down,output chat.gguf chat-lora.gguf
	talk() { echo 'the of' | infer-run -q -i -m chat.gguf --temp 0 -n 24 "$@"; }
	same "$(talk)" "$(talk --lora chat-lora.gguf=0)"
	[ "$(talk)" != "$(talk --lora chat-lora.gguf)" ]
}

@test "what is no adapter of the model is refused" {
	fails 2 '--lora needs a value' infer-run --no-stdin the --lora
	fails 2 'names no file' infer-run --no-stdin --lora '=1' the
	fails 1 'none: No such file' infer-run --no-stdin --lora none the
	fails 2 '.' infer-run --no-stdin --lora "$M" the
	fails '[34]' '.' infer-run --no-stdin --lora "$A" -m demo the || fails 3 '.' infer-run --no-stdin --lora "$A" -m demo the || fails 4 '.' infer-run --no-stdin --lora "$A" -m demo the
	fails 2 '--lora does not go with --tokenize' infer-run --no-stdin --tokenize --lora "$A" the
	fails 2 'at most 8' infer-run --no-stdin $(printf -- "--lora $A %.0s" 1 2 3 4 5 6 7 8 9) the
	fails 2 'an adapter with a scale is --lora FILE=SCALE' infer-run --lora-scaled "$A" 2 the
	fails 2 'does not go with --server|--lora' infer-run --no-stdin --server unix:none --lora "$A" the
}
