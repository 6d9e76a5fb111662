# directories of Hugging Face checkpoints in every program: the same answers, digests and tensors as from the GGUF file of the same weights
load lib
load serve

digest_of() { infer-run -q -m "$1" --no-stdin --temp 0 -n 16 --ignore-eos --stats the of 2>&1 >/dev/null | json digest; }
setup_more()
{
	mkmodel --type bf16 --layers 3 --embd 256 --chat m.gguf && mkhf m.gguf d && mkhf --shards 3 --odd m.gguf odd
	# as the cache of the hub has it: links to blobs that are elsewhere
	digest_of m.gguf >digest
	mkdir blobs cache_of && for f in d/*; do cp "$f" "blobs/$(sha256sum "$f" | cut -c 1-16)" && ln -s "../blobs/$(sha256sum "$f" | cut -c 1-16)" "cache_of/${f#d/}"; done
}
setup() { cd "$BATS_FILE_TMPDIR" || return; }
# what a directory's files have together
bytes_of() { cat "$1"/* | wc -c; }

@test "infer-run gives the same text, scores, tokens and digest as the GGUF file, however the directory is cut" {
	for o in '-n 8 --temp 0 --ignore-eos --raw' '-n 8 --seed 3 --ignore-eos' --score --tokenize --render '-n 4 --seed 2 -o tokens --logprobs 2'; do
		# shellcheck disable=SC2086
		infer-run -q -m m.gguf --no-stdin $o the of and >a
		for d in d d/ ./odd// cache_of; do
			# shellcheck disable=SC2086
			infer-run -q -m $d --no-stdin $o the of and | cmp a -
		done
	done
	[ -s a ]
	for m in d odd cache_of; do same "$(cat digest)" "$(digest_of $m)"; done
	same "$(infer-run -q -m m.gguf --no-stdin --tokenize the of | infer-run -q -m d --detokenize)" 'the of'
	[ -z "${SAN:-}" ] || return 0 # a build with sanitizers has no sandbox
	echo the | infer-run -q -m d --temp 0 -n 4 --sandbox >a
	echo the | infer-run -q -m m.gguf --temp 0 -n 4 | cmp a -
}

@test "a tokenizer.model of SentencePiece is read as the GGUF file's vocabulary" {
	mkmodel --type f16 --tok spm spm.gguf
	mkhf spm.gguf spm
	[ -e spm/tokenizer.model ]
	[ ! -e spm/tokenizer.json ]
	for o in '--tokenize' '--tokenize --bos' '-n 8 --temp 0 --raw --ignore-eos' '--score'; do
		# shellcheck disable=SC2086
		infer-run -q -m spm.gguf --no-stdin $o ' the  of é <s>and' >a
		# shellcheck disable=SC2086
		infer-run -q -m spm --no-stdin $o ' the  of é <s>and' | cmp a -
	done
	same "$(digest_of spm.gguf)" "$(digest_of spm)"
	infer-quant -q --copy spm copy.gguf
	same "$(digest_of spm.gguf)" "$(digest_of copy.gguf)"
	infer-inspect diff spm.gguf copy.gguf | grep -E '^[-+] tokenizer.ggml.(model|tokens|scores|token_type|(bos|eos)_token_id)' && return 1
	head -c 100 spm/tokenizer.model >cut && mv cut spm/tokenizer.model
	fails 3 'spm/tokenizer.model: .*byte [0-9]+: ' infer-run -m spm --no-stdin the
}

@test "experts, which are tensors of their own in a directory, are used where they are, and written as one" {
	mkmodel --arch qwen3moe --type bf16 moe.gguf
	for o in '' --odd '--shards 3'; do
		# shellcheck disable=SC2086
		rm -rf moe && mkhf $o moe.gguf moe
		same "$(digest_of moe.gguf)" "$(digest_of moe)"
		for t in --copy '--type Q8_0' '--type Q4_0 --method gptq -f text -c 64' '--bpw 9 -f text -c 64'; do
			head -c 2000 "$TOP/README.md" >text
			# shellcheck disable=SC2086
			infer-quant -q $t moe a.gguf && infer-quant -q $t moe.gguf b.gguf
			infer-inspect diff a.gguf b.gguf >a || :
			grep -q 'error 0, largest 0$' a
		done
		infer-inspect diff moe moe.gguf >a || :
		grep -q 'error 0, largest 0$' a
		infer-inspect verify -m moe | grep -q '^finite'
	done
	infer-run -v -m moe --no-stdin -n 1 the 2>err >/dev/null
	! grep -q exps err
}

@test "records name the directory without a slash at its end, its size and its id, which depends on every file" {
	infer-run -q -m d/ --no-stdin --seed 1 -n 4 --json the >a
	same d "$(json run.model.path <a)"
	same "$(bytes_of d)" "$(json run.model.file_bytes <a)"
	id=$(json run.model.id <a)
	same "$id" "$(infer-inspect -m d --json | head -n 1 | json id)"
	same "$id" "$(infer-inspect -m cache_of --json | head -n 1 | json id)"
	for f in config.json tokenizer.json tokenizer_config.json generation_config.json; do
		cp -r d changed && echo >>changed/$f
		[ "$id" != "$(infer-inspect -m changed --json | head -n 1 | json id)" ]
		rm -r changed
	done
	# the middle of a tensor, which is in no header
	cp -r d changed
	at=$(infer-inspect tensors -m d --json | grep '"blk.2.ffn_down.weight"' | perl -ne '/"offset_bytes":(\d+),"size_bytes":(\d+)/ && print $1 + $2 / 2')
	perl -e 'open F, "+<", "changed/model.safetensors"; seek F, $ARGV[0], 0; read F, $x, 1; seek F, $ARGV[0], 0; print F chr(ord($x) ^ 1)' "$at"
	[ "$id" != "$(infer-inspect -m changed --json | head -n 1 | json id)" ]
	rm -r changed
}

@test "batches go on and records are replayed, with the directory and with the GGUF file" {
	printf '%s\n' '{"id":"a","prompt":"the of","max_tokens":4}' '{"id":"b","prompt":"and","max_tokens":4}' >in
	head -n 1 in | infer-run -q -m d --temp 0 --batch - --resume out
	infer-run -q -m cache_of --temp 0 --batch in --resume out
	same 2 "$(wc -l <out)"
	infer-run -q -m d --temp 0 --batch in --with-request >records
	infer-run -m cache_of --replay records 2>&1 | grep -q '2 records, all the same'
}

@test "infer-inspect shows files, what is copied, tensors, keys, tokens and the template; diff finds none in tensors" {
	infer-inspect -m d --all >a
	same 'runs here: yes' "$(head -n 1 a)"
	grep -q '^file       d$' a
	grep -q '^format     hf$' a
	grep -q "^files      $(ls d | wc -l)$" a
	grep -q "^bytes      $(bytes_of d) (" a
	grep -q '^copied     ' a
	grep -q '^general.architecture  string  llama$' a
	infer-inspect --json -m d | head -n 1 >b
	same hf "$(json format <b)"
	same null "$(json version <b)"
	same "$(infer-inspect tokens -m m.gguf the of)" "$(infer-inspect tokens -m d the of)"
	infer-inspect template -m m.gguf | grep -v m.gguf >a || :
	infer-inspect template -m d | grep -v '^d' >b || :
	[ -s b ]
	same "$(infer-inspect tensors -m m.gguf | awk '{ print $4, $6, $7, $8, $9, $10 }' | sort)" "$(infer-inspect tensors -m odd | awk '{ print $4, $6, $7, $8, $9, $10 }' | sort)"
	infer-inspect diff m.gguf odd >a && rc=0 || rc=$?
	same 8 "$rc"
	grep -q 'bits each, error 0, largest 0$' a
	infer-inspect verify -m odd >a
	same "$(ls odd | wc -l)" "$(grep -c '^sha256' a)"
	for f in odd/*; do grep -q "^sha256  $(sha256sum "$f" | cut -d ' ' -f 1) " a; done
	grep -q '^finite  all weights' a
	infer-inspect plan -m d >a
	[ -s a ]
}

@test "infer-run -v says which tensors were copied, and why" {
	infer-run -v -m d --no-stdin -n 1 the 2>err >/dev/null
	grep -q "^infer-run: attn_q.weight: 3 copied (.*order" err
	infer-run -m d --no-stdin -n 1 the 2>err >/dev/null
	[ ! -s err ]
}

@test "infer-bench measures a directory, and its record has the hash of each file" {
	infer-bench run -q -m d -p 8 -n 2 --repeat 1 --json >a
	for f in d/*; do head -n 1 a | grep -q "$(sha256sum "$f" | cut -d ' ' -f 1)"; done
}

@test "infer-quant --copy writes the GGUF file of a directory; it has its digest, and the tensors that it would have from the GGUF file" {
	for d in d odd cache_of; do
		infer-quant -q --copy $d copy.gguf
		same "$(cat digest)" "$(digest_of copy.gguf)"
		infer-inspect diff m.gguf copy.gguf >a || :
		grep -q 'bits each, error 0, largest 0$' a
		infer-inspect diff $d copy.gguf >a
	done
	infer-quant -q --copy --split-max-size 500K d split.gguf
	same "$(cat digest)" "$(digest_of split-00001-of-*.gguf)"
	infer-quant -q --type Q4_K_M --verify d a.gguf
	infer-quant -q --type Q4_K_M m.gguf b.gguf
	infer-inspect diff a.gguf b.gguf >a || :
	grep -q 'error 0, largest 0$' a
	infer-quant -q --type Q8_0 odd a.gguf
	infer-run -q -m a.gguf --no-stdin -n 2 the >a
	[ -s a ]
}

@test "a model is called by its directory, and in the cache of the hub by its repository" {
	mkdir -p cache/models--some-org--tiny-model-2b/snapshots
	cp -r d cache/models--some-org--tiny-model-2b/snapshots/0123abc
	infer-inspect -m cache/models--some-org--tiny-model-2b/snapshots/0123abc --all | grep -q '^general.name  string  Tiny Model 2b$'
	cp -r d my-model-v1.5
	infer-inspect -m my-model-v1.5/ --all | grep -q '^general.name  string  My Model v1.5$'
	cd my-model-v1.5
	infer-inspect -m . --all | grep -q '^general.name  string  My Model v1.5$'
}

@test "a weight that is not finite is named with its file, also where it was copied" {
	mkhf --shards 3 m.gguf nan
	at=$(infer-inspect tensors -m nan --json | grep '"blk.2.ffn_down.weight"' | perl -ne '/"shard":(\d+),"offset_bytes":(\d+),/ && print $2')
	perl -e 'open F, "+<", "nan/model-00003-of-00003.safetensors"; seek F, $ARGV[0], 0; print F "\xff\xff"' "$at"
	fails 3 "nan/model-00003-of-00003.safetensors: tensor blk.2.ffn_down.weight: the BF16 weight at byte $at is not finite" infer-inspect verify -m nan
	fails 3 'tensor blk.2.ffn_down.weight: element 0 is not finite' infer-quant --type Q8_0 nan nan.gguf
	[ ! -e nan.gguf ]
	rm -r nan && cp -r d nan
	at=$(perl -e 'open F, "nan/model.safetensors"; read F, $n, 8; $n = unpack "Q<", $n; read F, $h, $n; $h =~ /layers.1.self_attn.q_proj.weight":\{[^}]*offsets":\[(\d+)/; print 8 + $n + $1')
	perl -e 'open F, "+<", "nan/model.safetensors"; seek F, $ARGV[0], 0; print F "\xff\xff"' "$at"
	fails 3 'nan/model.safetensors: tensor blk.1.attn_q.weight: the BF16 weight at byte 0 of its copy is not finite' infer-inspect verify -m nan
	rm -r nan
}

@test "what infer-quant measures is the same: importances, GPTQ, types for a size, and what was lost" {
	head -c 3000 "$TOP/README.md" >text
	for m in d m.gguf; do
		infer-quant imatrix -q -m $m -f text -c 64 --out $m.im
		infer-quant -q --type Q4_0 --method gptq -f text -c 64 $m $m.gptq
		infer-quant -q --bpw 6 -f text -c 64 $m $m.bpw
	done
	cmp d.im m.gguf.im
	for x in gptq bpw; do
		infer-inspect diff d.$x m.gguf.$x >a || :
		grep -q 'error 0, largest 0$' a
	done
	infer-quant eval -q -m d --ref m.gguf -f text -c 64 --json >a
	same 0 "$(json kl.max <a)"
	fails 3 'd: figures can be written into GGUF files only' infer-quant eval -m d --into d -f text -c 64
}

@test "infer-serve serves a directory whose files are links, as in the cache of the hub" {
	serve -m cache_of
	own ask POST /v1/completions '{"prompt":"the of","max_tokens":6,"temperature":0,"ignore_eos":true}' 'X-Api-Key: mine' >a
	grep -q '"text":' a
}

@test "a directory that is no model says what is missing or what it is, with code 3; a file that is missing is code 1" {
	mkdir empty && fails 3 'empty.*config.json' infer-run -m empty --no-stdin the
	cp -r d x && rm x/model.safetensors && fails 3 'x.*safetensors' infer-run -m x --no-stdin the
	cp odd/config.json x/ && cp odd/model.safetensors.index.json x/ && fails 1 'model-00001-of-00003.safetensors' infer-run -m x --no-stdin the
	rm -r x
	mkdir bin && cp d/*.json bin/ && echo >bin/pytorch_model.bin && fails 3 'bin.*pytorch_model.bin' infer-inspect -m bin
	rm -r bin
	cp -r d g && perl -pi -e 's/\{/{"quantization_config":{"quant_method":"gptq","bits":4},/' g/config.json && fails 3 'g/config.json: quantization_config: "group_size" is missing' infer-quant --copy g g.gguf
	[ ! -e g.gguf ]
	rm -r g
	cp -r d a && perl -pi -e 's/LlamaForCausalLM/OtherForCausalLM/' a/config.json && fails 3 'a/config.json.*OtherForCausalLM' infer-bench run -m a
	cp d/config.json a/ && perl -pi -e 's/"hidden_act":"silu"/"hidden_act":"relu"/' a/config.json && fails 3 'a/config.json.*hidden_act' infer-serve -m a
	cp d/config.json a/ && perl -pi -e 's/"num_hidden_layers":3/"num_hidden_layers":4/' a/config.json && fails 3 'model.layers.3|blk.3' infer-run -m a --no-stdin the
	cp d/config.json a/ && perl -pi -e 's/"type":"BPE"/"type":"Other"/' a/tokenizer.json && fails 3 'a/tokenizer.json.*Other' infer-run -m a --no-stdin the
	cp d/tokenizer.json a/ && echo '{' >a/tokenizer_config.json && fails 3 'a/tokenizer_config.json' infer-run -m a --no-stdin the
	cp d/tokenizer_config.json a/ && truncate -s -1 a/model.safetensors && fails 3 'a/model.safetensors' infer-run -m a --no-stdin the
	rm -r a empty
}
