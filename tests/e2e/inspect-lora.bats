# infer-inspect lora: adapters, and whether they fit a model.  Adapters of tests/golden/lora are made by peft and the
# public converter.
load lib

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	cp "$TOP/tests/golden/logits/llama3-hub.gguf" base.gguf
	cp -r "$TOP/tests/golden/lora/llama3-hub" a
}

@test "an adapter in GGUF and the directory that it was converted from are shown alike" {
	infer-inspect lora -m base.gguf a/all.gguf >gguf
	infer-inspect lora -m base.gguf a/all >peft
	grep -q '^method     LoRA, alpha 3, rank up to 2$' gguf
	grep -q '^fits       base.gguf (llama)$' gguf
	grep -q "^sha256     $(sha256sum <a/all.gguf | cut -d ' ' -f 1)$" gguf
	grep -q "^sha256     $(sha256sum <a/all/adapter_model.safetensors | cut -d ' ' -f 1)$" peft
	same 14 "$(sed -n 's/^tensors *//p' gguf)"
	sed '1,/^ rank/d' gguf | sort >x
	sed '1,/^ rank/d' peft | sort >y
	same 14 "$(wc -l <x)"
	cmp x y
	grep -Eq '^ +2 +1.5 +448 F32/F32 +24 x 32 +blk.0.attn_q.weight$' x
}

@test "a tensor that replaces the model's is said to be whole" {
	infer-inspect lora -m base.gguf a/save-embed | grep -Eq '^whole +- +3456 F16 +24 x 72 +token_embd.weight$'
}

@test "several adapters are shown one after the other; --json prints a record of each" {
	same 2 "$(infer-inspect lora -m base.gguf a/all a/rslora | grep -c ^sha256)"
	infer-inspect lora -m base.gguf --json a/all a/save-embed >b
	same 2 "$(wc -l <b)"
	same adapter "$(head -n 1 b | json kind)"
	same lora "$(head -n 1 b | json method)"
	same llama "$(head -n 1 b | json architecture)"
	same 2 "$(head -n 1 b | json tensors.0.rank)"
	same whole "$(sed -n 2p b | json tensors.4.change)"
}

@test "an adapter that does not fit is refused with 3, by tensor; a model, or nothing, with 2" {
	fails 3 'tensor blk.0.ffn_down.weight.lora_a: A must have 768 x 2 x 1 values, not 32 x 2 x 1$' infer-inspect lora -m demo a/all.gguf
	fails 3 'by the model' infer-inspect lora -m demo a/all
	fails 2 'not an adapter, but: model' infer-inspect lora -m base.gguf base.gguf
	fails 2 'lora takes adapters' infer-inspect lora -m base.gguf
	fails 2 '-f goes with tokens' infer-inspect lora -m base.gguf -f x a/all
	fails 1 'nothing.gguf' infer-inspect lora -m base.gguf nothing.gguf
}

@test "plan --lora counts the memory of adapters, and what a token reads of them" {
	infer-inspect plan -m base.gguf --device cpu --json >without
	infer-inspect plan -m base.gguf --device cpu --json --lora a/all.gguf --lora a/rslora >with
	bytes=$(infer-inspect lora -m base.gguf --json a/all.gguf a/rslora | json memory_bytes | awk '{ n += $1 } END { print n }')
	same "$bytes" "$(json adapter_bytes <with)"
	same 4 "$(json adapter_rank <with)"
	same "$bytes" $(($(json asked.memory.weight_bytes <with) - $(json asked.memory.weight_bytes <without)))
	same "$bytes" $(($(json asked.decode.weight_bytes <with) - $(json asked.decode.weight_bytes <without)))
	[ "$(json asked.memory.workspace_bytes <with)" -gt "$(json asked.memory.workspace_bytes <without)" ]
	infer-inspect plan -m base.gguf --device cpu --lora a/all.gguf >text
	grep -q '^adapters .* counted with the weights; ranks of 2 in all$' text
	grep -q 'infer-run -m .* --lora a/all.gguf' text
	fails 3 'adapters run on the CPU only' infer-inspect plan -m base.gguf --hw h100 --lora a/all.gguf
	fails 3 'A must have' infer-inspect plan -m demo --lora a/all.gguf
	fails 2 'lora does not go with --table' infer-inspect plan -m base.gguf --lora a/all.gguf --table
	fails 2 'go with plan only' infer-inspect show -m base.gguf --lora a/all.gguf
}

@test "an adapter in place of a model is refused with what to do" {
	fails 3 'an adapter, not a model: give it with --lora' infer-run -m a/all.gguf --no-stdin hi
	fails 3 'give it with --lora' infer-run -m a/all --no-stdin hi
}
