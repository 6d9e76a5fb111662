# bash completion for inferutils.  Made by scripts/mk-completions.

# The word, and the option whose value it is: in --kv-type=f the shell cuts three words.
_infer_word()
{
	word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
	[ "$word" != = ] || { word='' before="= $before"; }
	if [ "$before" = = ]; then before=${COMP_WORDS[COMP_CWORD - 2]}; fi
	before=${before#= }
	COMPREPLY=()
}
_infer_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$word"); }
# words with commas between them
_infer_list()
{
	local done=''
	case $word in *,*) done=${word%,*}, ;; esac
	mapfile -t COMPREPLY < <(compgen -P "$done" -W "$1" -- "${word##*,}")
}
_infer_files()
{
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen -f -- "$word")
}
_infer_model()
{
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen -W demo -- "$word"; compgen -d -- "$word"; compgen -f -X '!*.gguf' -- "$word"; compgen -f -X '!*.gguf.zst' -- "$word")
}
_infer_isa() { _infer_words "$(infer-inspect --version 2>/dev/null | sed -n 's/^kernels: //p')"; }
_infer_machine()
{
	_infer_words "$(infer-inspect hw --hw all 2>/dev/null | cut -d ' ' -f 1)"
	[ ${#COMPREPLY[@]} != 0 ] || _infer_files
}
# sub-commands, and models: the first word is one of both
_infer_first()
{
	local words=()

	[ "$COMP_CWORD" != 1 ] || mapfile -t words < <(compgen -W "$1" -- "$word")
	_infer_model
	COMPREPLY=("${words[@]}" "${COMPREPLY[@]}")
}

# infer-bench
_infer_bench()
{
	local word before

	_infer_word
	case $before in
	-m | --model) _infer_model; return ;;
	--lora | --plan | --api-key-file | --trace | --suite | --out | --record) _infer_files; return ;;
	-p | --prompt | -n | --max-tokens | --depth | --seqs) return ;;
	--clock) _infer_words 'wall cpu'; return ;;
	--first-token) _infer_words 'no warm cold both'; return ;;
	--url | --alias | --clients | --rate | --requests | --output | --shared-prefix | --seed | --warmup | --timeout | --pid | --price) return ;;
	--api) _infer_words 'completions chat'; return ;;
	--adapters) _infer_list 'all base'; return ;;
	--filter) return ;;
	--tolerance | --rounds | --max-rounds | --max-time) return ;;
	--to) _infer_words 'jsonl llama-bench vllm'; return ;;
	--kind) _infer_words 'auto sweep latency throughput roofline'; return ;;
	--device) _infer_words 'auto cpu cuda'; return ;;
	--gpu-layers) _infer_words 'auto'; return ;;
	--split | -t | --threads | -c | --ctx | --kv-bytes | --swap-bytes | --prefill-chunk | --step-ms | --repeat) return ;;
	--kv-type) _infer_list 'f16 f32 q8_0 q4_0'; return ;;
	--act-type) _infer_words 'f32 bf16'; return ;;
	--isa) _infer_isa; return ;;
	--help) _infer_words 'run serve kernels compare plot engine output general examples rows'; return ;;
	esac
	case $word in
	-*) _infer_words '
		-m --model --lora -p --prompt -n --max-tokens --depth --clock --seqs --first-token --plan
		--url --api --alias --adapters --api-key-file --clients --rate --trace --requests --output --shared-prefix --seed --warmup --may-stop --timeout --pid --price
		--filter
		--tolerance --rounds --max-rounds --max-time --suite --to
		--out --kind
		--device --gpu-layers --split --cpu-experts --deterministic -t --threads -c --ctx --kv-type --act-type --kv-bytes --swap-bytes --prefill-chunk --step-ms --no-prefix-cache --isa --repeat --quick
		--json --record
		-q --quiet -v --verbose -h --help --version' ;;
	*) _infer_words 'run serve ab compare plot report convert kernels' ;;
	esac
}
complete -F _infer_bench infer-bench

# infer-inspect
_infer_inspect()
{
	local word before

	_infer_word
	case $before in
	-m | --model) _infer_model; return ;;
	--sort) _infer_words 'offset bytes type bits elements name rms range outliers'; return ;;
	--filter) return ;;
	--system | --template-args) return ;;
	--messages | --tools | --template | -f | --file | --check | --lora) _infer_files; return ;;
	--think) _infer_words 'on off'; return ;;
	--as) _infer_words 'auto schema gbnf regex lark'; return ;;
	--sample | --seed | --constraint-budget) return ;;
	-c | --ctx | --users | --prompt | --output | --shared-prefix | --ttft | --tpot | --budget | --price | --prefill-chunk | -t | --threads) return ;;
	--device) _infer_words 'auto cpu cuda'; return ;;
	--kv-type) _infer_list 'f16 f32 q8_0 q4_0'; return ;;
	--hw) _infer_machine; return ;;
	--help) _infer_words 'model tensors template text grammar plan machine general examples rows'; return ;;
	esac
	case $word in
	-*) _infer_words '
		-m --model --json --all
		--sort --filter --stats
		--system --messages --tools --template --template-args --think --source
		-f --file --no-stdin --raw --special --bos
		--as --check --sample --seed --format-annotation --strict-formats --lax-schema --constraint-budget
		-c --ctx --device --users --prompt --output --shared-prefix --ttft --tpot --budget --price --kv-type --prefill-chunk -t --threads --lora --table
		--hw --again
		-q --quiet -v --verbose -h --help --version' ;;
	*) _infer_words 'show tensors tokens template verify diff lora grammar plan hw pull list rm'; [ ${#COMPREPLY[@]} != 0 ] || _infer_model ;;
	esac
}
complete -F _infer_inspect infer-inspect

# infer-quant
_infer_quant()
{
	local word before

	_infer_word
	case $before in
	--type) _infer_words 'F32 F16 BF16 Q8_0 Q6_K Q5_K_M Q5_K_S Q5_K Q4_K_M Q4_K_S Q4_K Q3_K_L Q3_K_M Q3_K_S Q3_K Q2_K Q2_K_S Q5_1 Q5_0 Q4_1 Q4_0 IQ4_NL IQ4_XS IQ3_M IQ3_S IQ3_XS IQ3_XXS IQ2_M IQ2_S IQ2_XS IQ2_XXS IQ1_M IQ1_S TQ2_0 TQ1_0 Q2_0 Q1_0 MXFP4_MOE MXFP4 NVFP4'; return ;;
	--method) _infer_words 'search rtn gptq'; return ;;
	--calibration | --merge-lora | --imatrix | --recipe | --save-recipe | -f | --file | --choices | --into | --record | --out) _infer_files; return ;;
	--keep | --max-bytes | --bpw) return ;;
	--split-max-size) return ;;
	-m | --model | --ref | --beside) _infer_model; return ;;
	--device) _infer_words 'auto cpu cuda'; return ;;
	--gpu-layers) _infer_words 'auto'; return ;;
	--split | -t | --threads | -c | --ctx | --kv-bytes | --swap-bytes | --prefill-chunk | --step-ms) return ;;
	--kv-type) _infer_list 'f16 f32 q8_0 q4_0'; return ;;
	--act-type) _infer_words 'f32 bf16'; return ;;
	--isa) _infer_isa; return ;;
	--help) _infer_words 'recipe output eval imatrix engine general examples rows'; return ;;
	esac
	case $word in
	-*) _infer_words '
		--type --method --calibration --copy --merge --merge-lora --keep --imatrix --max-bytes --bpw --recipe --save-recipe
		--dry-run --split-max-size --zstd --report --verify --json
		-m --model -f --file --ref --beside --choices --into --record
		--out --show
		--device --gpu-layers --split --cpu-experts --deterministic -t --threads -c --ctx --kv-type --act-type --kv-bytes --swap-bytes --prefill-chunk --step-ms --no-prefix-cache --isa
		-q --quiet -v --verbose -h --help --version' ;;
	*) _infer_first 'eval imatrix' ;;
	esac
}
complete -F _infer_quant infer-quant

# infer-run
_infer_run()
{
	local word before

	_infer_word
	case $before in
	-f | --file | --messages | --tools | --template | --lora | --json-schema | --grammar | --out | --batch | --resume | --replay) _infer_files; return ;;
	--system | --template-args | --think-budget) return ;;
	--think) _infer_words 'on off'; return ;;
	-m | --model) _infer_model; return ;;
	--device) _infer_words 'auto cpu cuda'; return ;;
	--gpu-layers) _infer_words 'auto'; return ;;
	--split | -t | --threads | -c | --ctx | --kv-bytes | --swap-bytes | --prefill-chunk | --step-ms | --server) return ;;
	--kv-type) _infer_list 'f16 f32 q8_0 q4_0'; return ;;
	--act-type) _infer_words 'f32 bf16'; return ;;
	--isa) _infer_isa; return ;;
	--temp | --dynatemp-range | --dynatemp-exp | --top-k | --top-p | --min-p | --typical | --top-n-sigma | --xtc-probability | --xtc-threshold | --repeat-penalty | --repeat-last-n | --presence-penalty | --frequency-penalty | --dry-multiplier | --dry-base | --dry-allowed-length | --dry-penalty-last-n | --dry-sequence-breaker | --mirostat-tau | --mirostat-eta | --logit-bias | --seed) return ;;
	--mirostat) _infer_words '0 1 2'; return ;;
	--samplers) _infer_list 'penalties dry top_n_sigma top_k typ_p top_p min_p xtc temperature'; return ;;
	-n | --max-tokens | --stop | --stop-token) return ;;
	--regex | --choice | --constraint-budget) return ;;
	--tool-choice) _infer_words 'auto none required'; return ;;
	-o | --output) _infer_words 'text jsonl tokens'; return ;;
	--logprobs | --fields | --repeat) return ;;
	--embed) _infer_words '[=mean last cls rank]'; return ;;
	--help) _infer_words 'prompt model sampling end form output instead safety general examples rows'; return ;;
	esac
	case $word in
	-*) _infer_words '
		-f --file --no-stdin --raw --system --messages --tools --template --template-args --think --think-budget --special --echo
		-m --model --lora --device --gpu-layers --split --cpu-experts --deterministic -t --threads -c --ctx --kv-type --act-type --kv-bytes --swap-bytes --prefill-chunk --step-ms --no-prefix-cache --isa --server
		--temp --dynatemp-range --dynatemp-exp --top-k --top-p --min-p --typical --top-n-sigma --xtc-probability --xtc-threshold --repeat-penalty --repeat-last-n --presence-penalty --frequency-penalty --dry-multiplier --dry-base --dry-allowed-length --dry-penalty-last-n --dry-sequence-breaker --mirostat --mirostat-tau --mirostat-eta --samplers --logit-bias --seed
		-n --max-tokens --stop --stop-token --ignore-eos --fail-on-length
		--json-schema --json-object --grammar --regex --choice --tool-choice --lax-schema --format-annotation --strict-formats --constraint-budget --no-jump
		-o --output --json --logprobs --fields --out --no-stream --with-request --stats --repeat
		-i --batch --resume --retry-errors --mix --ordered --lines -0 --null --replay --render --score --embed --no-normalize --tokenize --bos --detokenize
		--sandbox
		-q --quiet -v --verbose -h --help --version' ;;
	esac
}
complete -F _infer_run infer-run

# infer-serve
_infer_serve()
{
	local word before

	_infer_word
	case $before in
	--listen | --alias | --cors | --server-name | --otlp | --max-lora-rank) return ;;
	--config | --api-key-file | --tls-cert | --tls-key | --access-log | --files-dir | --lora-dir | --template | --lora) _infer_files; return ;;
	--log-requests) _infer_words 'content'; return ;;
	-n | --max-tokens | --max-queue | --max-connections | --trusted-proxy | --max-body | --max-file | --header-timeout | --body-timeout | --idle | --drain) return ;;
	-m | --model) _infer_model; return ;;
	--template-args | --think-budget | --split | -t | --threads | -c | --ctx | --kv-bytes | --swap-bytes | --prefill-chunk | --step-ms | --parallel) return ;;
	--think) _infer_words 'on off'; return ;;
	--embed) _infer_words 'mean last cls'; return ;;
	--device) _infer_words 'auto cpu cuda'; return ;;
	--gpu-layers) _infer_words 'auto'; return ;;
	--kv-type) _infer_list 'f16 f32 q8_0 q4_0'; return ;;
	--act-type) _infer_words 'f32 bf16'; return ;;
	--isa) _infer_isa; return ;;
	--temp | --dynatemp-range | --dynatemp-exp | --top-k | --top-p | --min-p | --typical | --top-n-sigma | --xtc-probability | --xtc-threshold | --repeat-penalty | --repeat-last-n | --presence-penalty | --frequency-penalty | --dry-multiplier | --dry-base | --dry-allowed-length | --dry-penalty-last-n | --dry-sequence-breaker | --mirostat-tau | --mirostat-eta | --logit-bias | --seed) return ;;
	--mirostat) _infer_words '0 1 2'; return ;;
	--samplers) _infer_list 'penalties dry top_n_sigma top_k typ_p top_p min_p xtc temperature'; return ;;
	--help) _infer_words 'server limits model sampling general examples rows'; return ;;
	esac
	case $word in
	-*) _infer_words '
		--listen --config --alias --api-key-file --tls-cert --tls-key --cors --server-name --access-log --log-requests --otlp --no-slots --files-dir --lora-dir --max-lora-rank --no-page
		-n --max-tokens --max-queue --max-connections --trusted-proxy --max-body --max-file --header-timeout --body-timeout --idle --drain
		-m --model --template --template-args --think --think-budget --embed --lora --lora-init-without-apply --device --gpu-layers --split --cpu-experts --deterministic -t --threads -c --ctx --kv-type --act-type --kv-bytes --swap-bytes --prefill-chunk --step-ms --no-prefix-cache --isa --parallel
		--temp --dynatemp-range --dynatemp-exp --top-k --top-p --min-p --typical --top-n-sigma --xtc-probability --xtc-threshold --repeat-penalty --repeat-last-n --presence-penalty --frequency-penalty --dry-multiplier --dry-base --dry-allowed-length --dry-penalty-last-n --dry-sequence-breaker --mirostat --mirostat-tau --mirostat-eta --samplers --logit-bias --seed
		-q --quiet -v --verbose -h --help --version' ;;
	esac
}
complete -F _infer_serve infer-serve
