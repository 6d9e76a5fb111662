# bash completion for inferutils

# _infer_complete OPTIONS FILES-OPTIONS: options where the word begins with a dash, values where the option before has some
_infer_complete()
{
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}

	COMPREPLY=()
	case $before in
	-m | --model)
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -d -- "$word"; compgen -f -X '!*.gguf' -- "$word")
		return ;;
	-f | --file | --batch | --resume | --messages | --tools | --template | --record)
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		return ;;
	-o | --output)
		mapfile -t COMPREPLY < <(compgen -W 'text jsonl tokens' -- "$word")
		return ;;
	--kv-type)
		mapfile -t COMPREPLY < <(compgen -W 'f16 f32 q8_0 q4_0' -- "$word")
		return ;;
	--think)
		mapfile -t COMPREPLY < <(compgen -W 'on off' -- "$word")
		return ;;
	--mirostat)
		mapfile -t COMPREPLY < <(compgen -W '0 1 2' -- "$word")
		return ;;
	--isa)
		mapfile -t COMPREPLY < <(compgen -W "$(infer-inspect hw 2>/dev/null | sed -n 's/^kernels *//p')" -- "$word")
		return ;;
	esac
	case $word in
	-*) mapfile -t COMPREPLY < <(compgen -W "$1" -- "$word") ;;
	*) mapfile -t COMPREPLY < <(compgen -W "$2" -- "$word") ;;
	esac
}

# infer-bench
_infer_bench()
{
	_infer_complete '-m --model -p --prompt -n --max-tokens --depth -b --batch --clock --filter --quick
		-t --threads -c --ctx --kv-type --kv-bytes --prefill-chunk --step-ms --no-prefix-cache --isa
		--repeat --json --record -q --quiet -v --verbose -h --help --version' 'run kernels'
}

# infer-inspect
_infer_inspect()
{
	_infer_complete '-m --model --json --system --messages --tools --template --template-args --think --source
		-f --file --no-stdin --raw --special --bos
		-q --quiet -v --verbose -h --help --version' 'show tensors tokens template verify hw'
}

# infer-run
_infer_run()
{
	_infer_complete '-f --file --no-stdin --raw --system --messages --tools --template --template-args --think --special --echo
		-m --model -t --threads -c --ctx --kv-type --kv-bytes --prefill-chunk --step-ms --no-prefix-cache --isa
		--temp --dynatemp-range --dynatemp-exp --top-k --top-p --min-p --typical --top-n-sigma
		--xtc-probability --xtc-threshold --repeat-penalty --repeat-last-n --presence-penalty --frequency-penalty
		--dry-multiplier --dry-base --dry-allowed-length --dry-penalty-last-n --dry-sequence-breaker
		--mirostat --mirostat-tau --mirostat-eta --samplers --logit-bias --seed
		-n --max-tokens --stop --stop-token --ignore-eos --fail-on-length
		-o --output --json --logprobs --stats --repeat
		-i --batch --resume --retry-errors --mix --render --score --tokenize --bos --detokenize --sandbox
		-q --quiet -v --verbose -h --help --version' ''
}

# infer: which function completes which program
complete -F _infer_bench infer-bench
complete -F _infer_inspect infer-inspect
complete -F _infer_run infer-run
