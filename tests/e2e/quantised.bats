# quantised checkpoints of Hugging Face in the programs: repacked when they are opened, kept by --copy, described, and refused by key
load lib
load serve

digest_of() { infer-run -q -m "$1" --no-stdin --raw --temp 0 -n 8 --ignore-eos --stats abc 2>&1 >/dev/null | json digest; }
# the directory tests/golden/quantised/NAME with a tokenizer of 32 letters
golden()
{
	cp -r "$TOP/tests/golden/quantised/$1" "$1" && chmod -R u+w "$1"
	local vocab='' c i=0
	for c in a b c d e f g h i j k l m n o p q r s t u v w x y z A B C D E F; do
		vocab="$vocab${vocab:+,}\"$c\":$i" i=$((i + 1))
	done
	printf '{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true},"post_processor":null,"decoder":{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true},"model":{"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":false,"ignore_merges":false,"vocab":{%s},"merges":[]}}' "$vocab" >"$1/tokenizer.json"
}
setup_more() { for d in mlx bnb-nf4 ct-mixed fp8-block; do golden $d; done; }
setup() { cd "$BATS_FILE_TMPDIR" || return; }
# the directory $1 with the first text $2 of its config.json replaced by $3, as `bad`
with() { rm -rf bad && cp -r "$1" bad && sed -i "0,/$2/s//$3/" bad/config.json && ! cmp -s "$1/config.json" bad/config.json; }

@test "a copy keeps the types and gives the same digest; a file of F32 has the same values" {
	for d in mlx bnb-nf4 ct-mixed fp8-block; do
		infer-quant -q --copy $d $d.gguf
		same "$(infer-inspect tensors -m $d | awk '/blk/ {print $4, $NF}' | sort)" "$(infer-inspect tensors -m $d.gguf | awk '/blk/ {print $4, $NF}' | sort)"
		same "$(digest_of $d)" "$(digest_of $d.gguf)"
		infer-quant -q --type F32 $d whole.gguf
		infer-inspect diff $d whole.gguf >out || :
		grep -q 'error 0, largest 0$' out
		infer-inspect verify -m $d | grep -q '^finite'
	done
}

@test "infer-inspect says method, bits, groups and zero points, of a copy as well; plan counts the repacked bytes" {
	infer-inspect -m mlx | grep -qx 'source     MLX, 3 bits, groups of 64, zero points; the most of 9 kinds'
	infer-inspect -m mlx.gguf | grep -qx 'source     MLX, 3 bits, groups of 64, zero points; the most of 9 kinds'
	infer-inspect -m bnb-nf4 | grep -qx 'source     bitsandbytes NF4, 4 bits, groups of 64, symmetric'
	same MLX "$(infer-inspect -m mlx --json | head -n 1 | json source.method)"
	same 3 "$(infer-inspect -m mlx --json | head -n 1 | json source.bits)"
	same 9 "$(infer-inspect -m mlx --json | head -n 1 | json source.kinds)"
	same 64 "$(infer-inspect -m mlx --json | head -n 1 | json source.group_size)"
	same true "$(infer-inspect -m mlx --json | head -n 1 | json source.zero_points)"
	weights=$(infer-inspect -m mlx.gguf --json | head -n 1 | json tensor_bytes)
	same "$weights" "$(infer-inspect -m mlx --json | head -n 1 | json tensor_bytes)"
	infer-inspect plan -m mlx --json | head -n 1 >a
	infer-inspect plan -m mlx.gguf --json | head -n 1 >b
	same "$(json asked.memory.weight_bytes <b)" "$(json asked.memory.weight_bytes <a)"
	infer-run -v -m mlx --no-stdin --raw -n 1 abc 2>err >out
	grep -Eq 'MLX: 1 matrix of 4 bits, groups of 64, with zero points, repacked into Q4_F: [0-9.]+ MiB' err
	grep -Eq 'repacked in [0-9.]+ s' err
}

@test "the id depends on the configuration of the quantisation, also in a file of its own" {
	id=$(infer-inspect -m mlx --json | head -n 1 | json id)
	cp -r mlx other && printf '{"bits":4}' >other/quantize_config.json
	[ "$id" != "$(infer-inspect -m other --json | head -n 1 | json id)" ]
	printf '{"bits":5}' >other/quantize_config.json
	fails 3 'other/quantize_config.json: "bits" contradicts "bits" of quantization_config in config.json' infer-inspect -m other
}

@test "a configuration that is not supported or contradicts the tensors is refused by its key, by every program" {
	with bnb-nf4 '"nf4"' '"fp4"'
	for p in 'infer-run --no-stdin -m bad abc' 'infer-inspect -m bad' 'infer-quant --copy bad out.gguf' 'infer-bench run -m bad'; do
		# shellcheck disable=SC2086
		fails 3 'bad/config.json: quantization_config: "bnb_4bit_quant_type"' $p
	done
	[ ! -e out.gguf ]
	with bnb-nf4 bitsandbytes exl3
	fails 3 'bad/config.json: quantization_config: quantised with EXL3, which cannot be read' infer-inspect -m bad
	with fp8-block '"quantization_config"' '"quantization_config": null, "prefix": null, "task_specific_params"'
	fails 3 "bad/model.safetensors: tensor .*weight_scale_inv: has no use" infer-inspect -m bad
}
