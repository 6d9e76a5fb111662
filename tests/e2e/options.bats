# options, usage errors, help: what holds of every program
load lib

@test "--help goes to standard output, for both programs, and ends with 0" {
	for p in infer-run infer-inspect; do
		$p --help >out 2>err
		[ ! -s err ]
		grep -q '^Usage: ' out
		$p -h | cmp - out
	done
}

@test "--version names the version, the kernel sets and the libraries" {
	run -0 --separate-stderr infer-run --version
	[[ ${lines[0]} =~ ^infer-run\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
	[[ ${lines[1]} == kernels:\ ref* ]]
	[[ ${lines[2]} == libraries:*pcre2*yaml*zstd* ]]
	[ -z "$stderr" ]
}

@test "an unknown option is an error that names it" {
	fails 2 'unknown option --frobnicate' infer-run --frobnicate x
	fails 2 'unknown option -Z' infer-run -Z x
	fails 2 'unknown option --frobnicate' infer-inspect --frobnicate
}

@test "an abbreviated option is an error that says which may be meant" {
	fails 2 'unknown option --max-tok; did you mean --max-tokens' infer-run --max-tok 4 x
	fails 2 'unknown option --max-toke' infer-run --max-toke=4 x
	fails 2 'unknown option --ec; did you mean --echo' infer-run --ec x
	fails 2 'did you mean --json' infer-inspect --jsn
}

@test "options whose feature does not exist do not exist" {
	for o in --grammar=x --draft=ngram --embed --lora=x --server=x --device=cuda; do
		fails 2 'unknown option' infer-run $o x
	done
}

@test "a value that is missing, unwanted or malformed is an error that names the option" {
	fails 2 '--ctx needs a value \(N\)' infer-run --ctx
	fails 2 '--max-tokens needs a value' infer-run x -n
	fails 2 '--json takes no value' infer-run --json=1 x
	fails 2 "--ctx: '5x' is not a whole number" infer-run -c 5x x
	fails 2 "--ctx: ' 5' is not a whole number" infer-run -c ' 5' x
	fails 2 "--temp: 'nan' is not a number" infer-run --temp nan x
	fails 2 "--temp: '0x1' is not a number" infer-run --temp 0x1 x
	fails 2 "--kv-bytes: '1Q' is not a size" infer-run --kv-bytes 1Q x
	fails 2 "--kv-bytes: '1GB' is not a size" infer-run --kv-bytes 1GB x
	fails 2 "--output: 'xml' is none of" infer-run -o xml x
	fails 2 "--kv-type: 'q9' is none of f16, f32, q8_0, q4_0" infer-run --kv-type q9 x
	fails 2 "--kv-type: 'q8_0,' is none of" infer-run --kv-type q8_0, x
	fails 2 "--kv-type: 'Q8_0' is none of" infer-run --kv-type Q8_0 x
	fails 3 'Q4_0 needs heads of a multiple of 32' infer-run -m "$BATS_TEST_DIRNAME/../golden/logits/llama-gqa.gguf" --kv-type f16,q4_0 --raw x
	fails 2 '--stop: the value is empty' infer-run --stop '' x
	fails 2 '--model: the value is empty' infer-run -m '' x
}

@test "a value out of range is an error that says the range" {
	fails 2 '--ctx: 0 is out of range \(1 ' infer-run -c 0 x
	fails 2 '--threads: 0 is out of range' infer-run -t 0 x
	fails 2 '--threads: 1025 is out of range' infer-run -t 1025 x
	fails 2 '--temp: -0.1 is out of range' infer-run --temp -0.1 x
	fails 2 '--top-p: 0 is out of range \(above 0' infer-run --top-p 0 x
	fails 2 '--top-p: 1.5 is out of range' infer-run --top-p 1.5 x
	fails 2 '--min-p: 2 is out of range' infer-run --min-p 2 x
	fails 2 '--max-tokens: -1 is out of range' infer-run -n -1 x
	fails 2 '--logprobs: 129 is out of range' infer-run --json --logprobs 129 x
	fails 2 '--seed: 99999999999999999999 does not fit' infer-run --seed 99999999999999999999 x
	fails 2 '--ctx: 99999999999999999999 is out of range' infer-run -c 99999999999999999999 x
}

@test "an option's value that is not UTF-8 is an error" {
	fails 2 '--stop: the value is not UTF-8' infer-run --stop $'\xff' x
	fails 2 '--model: the value is not UTF-8' infer-run -m $'a\xc3' x
}

@test "an unknown kernel set is an error that lists those there are" {
	fails 2 "'mmx' is no kernel set; this machine runs ref" infer-run --isa mmx x
}

@test "the last of an option that is repeated counts; short, long and joined forms agree" {
	a=$(infer-run -q --temp 0 -n 9 -n 3 --no-stdin the)
	same "$a" "$(infer-run -q --temp=0 -n3 --no-stdin the)"
	same "$a" "$(infer-run the -q --temp 5 --temp 0 --max-tokens=3 --no-stdin)"
}

@test "words behind -- are no options" {
	same "$(infer-run --tokenize --no-stdin -- -n 3 | wc -w)" "$(printf '%s' '-n 3' | infer-run --tokenize | wc -w)"
}

@test "options that exclude each other are named" {
	fails 2 'exclude each other' infer-run --score --tokenize x
	fails 2 '--bos goes with --tokenize' infer-run --bos x
	fails 2 '--logprobs needs records' infer-run --logprobs 2 x
	fails 2 '--echo goes with' infer-run --echo --tokenize x
	fails 2 '--echo goes with -o text and jsonl' infer-run --echo -o tokens x
	fails 2 'one form of output' infer-run --tokenize --json x
	fails 2 'not with -o tokens' infer-run --score -o tokens x
	fails 2 'go with tokens only' infer-inspect show --raw
	fails 2 'takes no argument' infer-inspect hw x
	fails 2 'is none of show, tensors' infer-inspect "$M"
}

@test "no model at all is the built-in one and a line that says so; where records are read it is a usage error" {
	unset INFER_MODEL
	infer-run --no-stdin --temp 0 -n 3 "Question:" >out 2>err
	same "$(infer-run -q -m demo --no-stdin --temp 0 -n 3 "Question:")" "$(cat out)"
	same 1 "$(wc -l <err)"
	grep -q 'built-in' err
	infer-run -q --no-stdin --temp 0 -n 3 "Question:" >out 2>err
	[ ! -s err ]
	fails 2 'no model: name one with -m or INFER_MODEL' infer-run --json x
	fails 2 'no model' infer-run --score x
	fails 2 'no model' infer-inspect
	INFER_MODEL='' fails 2 'no model' infer-run --json x
}

@test "the built-in model by name and by path gives the same bytes" {
	same "$(infer-run -q -m demo --no-stdin --temp 0 --seed 1 "Story about a hen, a barn and a bell:")" \
		"$(infer-run -q -m "$TOP/libcore/demo/demo.gguf" --no-stdin --temp 0 --seed 1 "Story about a hen, a barn and a bell:")"
	same "$(infer-inspect -m demo --json | json id)" "$(infer-inspect -m "$TOP/libcore/demo/demo.gguf" --json | json id)"
}

@test "INFER_MODEL, INFER_THREADS and INFER_ISA stand in for options, and options win" {
	a=$(infer-run -q --temp 0 -n 4 --no-stdin the)
	same "$a" "$(INFER_MODEL=/nonexistent infer-run -m "$M" -q --temp 0 -n 4 --no-stdin the)"
	INFER_MODEL=/nonexistent fails 1 '/nonexistent' infer-run x
	INFER_THREADS=many fails 2 "INFER_THREADS: 'many' is not a whole number" infer-run x
	INFER_ISA=mmx fails 2 'no kernel set' infer-run x
	INFER_THREADS=1 infer-run -q -n 1 --stats --no-stdin the 2>stats >/dev/null
	same 1 "$(json threads <stats)"
	INFER_THREADS=1 infer-run -q -t 2 -n 1 --stats --no-stdin the 2>stats >/dev/null
	same 2 "$(json threads <stats)"
	INFER_ISA=ref infer-run -q -n 1 --stats --no-stdin the 2>stats >/dev/null
	same ref "$(json isa <stats)"
	INFER_THREADS=many infer-run --help >/dev/null
}

@test "model references that are not supported are refused by name" {
	fails 3 'hf:org/repo: models from the hub are not supported' infer-run -m hf:org/repo x
	fails 3 'x.gguf.zst: compressed' infer-run -m x.gguf.zst x
}
