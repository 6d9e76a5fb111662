# options, usage errors, help: what holds of every program
load lib

programs='infer-run infer-inspect infer-bench infer-quant infer-serve'

# narrow LINES FILE: it has at most so many lines, none of them over 80 columns
narrow() { awk -v most="$1" 'length > 80 { print FILENAME ": " $0; bad = 1 } END { if (NR > most) { print NR " lines"; bad = 1 } exit bad }' "$2"; }

@test "--help goes to standard output, has every option and examples, and fits 80 columns" {
	for p in $programs; do
		$p --help >out 2>err
		[ ! -s err ]
		grep -q '^Usage: ' out
		grep -q '^Examples:' out
		narrow 999 out
		$p --help=rows | awk -F'\t' '$1 == "option" { print $4 == "" ? $3 : $4 }' >names
		[ -s names ]
		while read -r o; do grep -qE "^ +(-.*)?$o( |\[|$)" out || { echo "$p --help: no $o"; return 1; }; done <names
	done
}

@test "-h has at most 25 lines of 80 columns, with examples, whose options exist" {
	for p in $programs; do
		$p -h >out 2>err
		[ ! -s err ]
		narrow 25 out
		grep -q '^Examples:' out
		sed -n '/^Examples/,/^$/p' out | grep -oE ' --?[a-z][a-z-]*' | tr -d ' ' | sort -u >used
		$p --help=rows | awk -F'\t' '$1 == "option" { print $3; print $4 }' | grep . | sort -u >options
		[ -z "$(comm -23 used options)" ]
	done
}

@test "the first example of infer-run -h is a question that the built-in model answers" {
	example=$(infer-run -h | sed -n '/^Examples:/{n;s/^ *infer-run "\(.*\)" .*/\1/p}')
	same 'A token is a piece of text: a word, a part of a word, or a byte.' "$(infer-run -q --no-stdin -m demo --temp 0 "$example")"
}

@test "--help with a section shows that; an unknown one is an error that lists them" {
	for p in $programs; do
		sections=$($p --help=rows | sed -n 's/^section\t\([a-z]*\)\t.*/\1/p')
		for s in $sections examples; do
			$p --help="$s" >a
			$p --help "$s" | cmp - a
			[ -s a ]
			narrow 99 a
		done
		# all of them together are what --help lists
		for s in $sections; do $p --help="$s"; done >a
		$p --help | awk '/^[A-Z].*:$|^[a-z]+: .*:$/ { on = 1 } /^Examples:/ { exit } on' | sed '$d' >b
		tail -n +2 a | cmp - b
	done
	infer-run --help=sampling | grep -q -- '--top-k N  .*(40)'
	! infer-run --help=sampling | grep -q -- --batch
	fails 2 "--help: 'samplng' is not one of prompt, model, sampling" infer-run --help=samplng
	fails 2 "--help: 'x' is not one of" infer-run --help x
	infer-run --help -q >a
	infer-run --help | cmp - a
}

@test "--version names the version, the kernel sets, the families and the libraries" {
	run -0 --separate-stderr infer-run --version
	[[ ${lines[0]} =~ ^infer-run\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
	[[ ${lines[1]} == kernels:\ ref* ]]
	[[ ${lines[2]} == families:\ llama\ *\ phi3* ]]
	[[ ${lines[3]} == libraries:*pcre2*zstd* ]]
	[ -z "$stderr" ]
	# the families are those of the list, and a message that refuses one has as many as fit
	for a in $(sed -n 's/^ARCH(\(.*\))$/\1/p' "$TOP/libcore/arch/arch_list.h"); do
		sed -n 's/.*\.gguf = "\([^"]*\)".*/\1/p' "$TOP/libcore/arch/models/$a.c" | head -n 1
	done >families
	same "families: $(paste -sd ' ' families)" "${lines[2]}"
	sed 's/llama/zebra/g' "$M" >zebra.gguf
	fails 3 "architecture zebra is not supported; these run: $(echo "${lines[2]#families: }" | cut -d ' ' -f -16 | sed 's/ /, /g') [.]{3}\$" infer-run -m zebra.gguf x
}

@test "names that other programs have say what is meant" {
	while read -r p typed meant; do
		fails 2 "unknown option $typed; did you mean $meant\?" "$p" "$typed" x
	done <<-END
		infer-run --temperature --temp
		infer-run --n-predict --max-tokens
		infer-run --num_predict --max-tokens
		infer-run --ctx-size --ctx
		infer-run --num-ctx --ctx
		infer-run --threads-batch --threads
		infer-run --system-prompt --system
		infer-run --chat -i
		infer-run --top_p --top-p
		infer-run --max_tokens --max-tokens
		infer-run --repetition_penalty --repeat-penalty
		infer-run -s --seed
		infer-run -V --version
		infer-inspect -V --version
		infer-bench --n-prompt --prompt
		infer-run --n-gpu-layers --gpu-layers
		infer-serve --ngl --gpu-layers
		infer-run --cpu-moe --cpu-experts
		infer-bench --n-cpu-moe --cpu-experts
	END
	fails 2 'unknown option --prompt; the prompt is the arguments' infer-run --prompt x
	fails 2 'unknown option -p; the prompt is the arguments' infer-run -p x
	fails 2 'unknown option --stream; an answer is written as it comes, unless --no-stream is given' infer-run --stream x
	fails 2 'unknown option --schema; did you mean --json-schema\?' infer-run --schema x
	fails 2 "--output: no 'json'; did you mean jsonl\?" infer-run -o json x
	# what the program itself does not have is not offered
	fails 2 'unknown option --temperature; --help lists' infer-inspect --temperature
	# every name of the list is no option of a program that has the one it stands for
	for p in $programs; do
		$p --help=rows | awk -F'\t' '$1 == "option" { print $3; print $4 }' | grep . >"$p"
		other_names | awk -v p="$p" 'NR == FNR { has[$1]; next } $2 != "-" && (("-" $1 in has && length($1) == 1) || ("--" $1 in has)) && $2 in has { print p ": " $1 }' "$p" -
	done >twice
	diff /dev/null twice
	cat infer-run infer-inspect infer-bench infer-quant infer-serve | sort -u >options
	other_names | awk '$2 != "-" { print $2 }' | sort -u >ours
	[ -s ours ]
	comm -23 ours options | diff /dev/null -
}

# other_names: NAME OURS, a line for each name of other_list.h; OURS is - if it stands for every program
other_names()
{
	perl -0777 -ne 's{/\*.*?\*/}{}gs; while (/^(?:OTHER|SAID)\(\s*((?:"[^"]*"\s*)+),\s*"([^"]*)"/gm) {
		my ($names, $ours) = ($1, $2 || "-"); print map { "$_ $ours\n" } split " ", join "", $names =~ /"([^"]*)"/g }' "$TOP/cmd/common/other_list.h"
}

# unanswered PROGRAM NAME...: the names that the program neither has nor answers by a row of other_list.h
unanswered()
{
	{
		other_names
		$1 --help=rows | awk -F'\t' '$1 == "option" { print "option", $3; print "option", $4 }'
		printf 'typed %s\n' "${@:2}"
	} | perl -ane 'if ($F[0] eq "option") { $has{$F[1]} = 1 if $F[1]; next } if ($F[0] ne "typed") { push @rows, [@F]; next }
		my $name = $F[1] =~ s/^--?//r; next if $has{length $name > 1 ? "--$name" : "-$name"};
		print "$F[1]\n" unless grep { my ($n, $ours) = @$_; ($ours eq "-" || $has{$ours}) && ($n =~ /^(.*)\*$/ ? !index $name, $1 : $n eq $name) } @rows'
}

@test "every option of llama.cpp, vLLM and Ollama is taken or answered by name" {
	while read -r p theirs; do
		mapfile -t names < <(tr ' ' '\n' <"$TOP/tests/golden/options/$theirs.txt")
		[ ${#names[@]} -gt 8 ]
		unanswered "$p" "${names[@]}" | sed "s/^/$p: /" >left
		diff /dev/null left
		# some of them, by the program itself
		$p --help=rows | awk -F'\t' '$1 == "option" { print $3; print $4 }' | grep . >has
		for ((i = ${#theirs}; i < ${#names[@]}; i += 17)); do
			n=${names[i]#-}
			n=${n#-}
			if [ ${#n} = 1 ]; then n=-$n; else n=--$n; fi
			grep -qxF -e "$n" has || fails 2 "unknown option ${names[i]}; ($|[^-]|--[^h])" "$p" "${names[i]}" 1
		done
	done <<-END
		infer-run llama-cli
		infer-run ollama-run
		infer-serve llama-server
		infer-serve vllm-serve
		infer-quant llama-quantize
		infer-bench llama-bench
	END
}

@test "a name with one dash is not read as letters: that of another program, or one that needs two dashes" {
	while read -r p typed says; do
		# shellcheck disable=SC2086
		fails 2 "unknown option $typed; $says" $p $typed 1 x
	done <<-END
		infer-run -ngl did you mean --gpu-layers
		infer-run -ctk did you mean --kv-type
		infer-run -cnv did you mean -i
		infer-run -fa attention is always of that kind
		infer-run -md speculative decoding is not supported
		infer-run -sys did you mean --system
		infer-run -temp did you mean --temp
		infer-run -max-tokens did you mean --max-tokens
		infer-serve -hff a file of the hub is -m hf:ORG/REPO:FILE
		infer-serve -tb did you mean --threads
		infer-bench -ub did you mean --prefill-chunk
	END
	fails 2 'unknown option -hf; a model of the hub is -m hf:a/b$' infer-run -hf a/b hi
	fails 2 'unknown option -hf; a model of the hub is -m hf:a/b$' infer-serve -q -hf a/b
	fails 2 'unknown option -temp; did you mean --temp' infer-run -temp=0.5 x
	# letters that are options, values that are joined, and files of such a name are what they were
	infer-run -q0 -n1 --temp 0 </dev/null
	same "$(infer-run -q -n 3 --temp 0 --no-stdin the)" "$(infer-run -qn3 --temp 0 --no-stdin the)"
	printf the >a
	same "$(infer-run -q -n 3 --temp 0 --no-stdin the)" "$(infer-run -q -n3 --temp 0 --no-stdin -fa)"
	cp "$M" d
	same "$(infer-run -q -n 3 --temp 0 --no-stdin the)" "$(infer-run -q -md -n3 --temp 0 --no-stdin the)"
	same "$(infer-run --tokenize --no-stdin -- -ngl)" "$(printf '%s' -ngl | infer-run --tokenize)"
}

@test "errors of usage fit 80 columns, but for those that list what there is" {
	while read -r line; do
		# shellcheck disable=SC2086
		$line 2>err </dev/null && return 1
		narrow 1 err
	done <<-END
		infer-run --frobnicate x
		infer-run --detokenize --tokenize x
		infer-run --sandbox -i
		infer-run -i --messages -
		infer-run -i --tools x
		infer-run --raw --system x y
		infer-run --score --system x y
		infer-run --batch x --messages y
		infer-run --batch x y
		infer-run --tokenize --json x
		infer-run --render --stats x
		infer-run --kv-type q9 x
		infer-run --act-type q9 x
		infer-run --device gpu x
		infer-run --gpu-layers some x
		infer-run --gpu-layers 2 --device cpu x
		infer-run --gpu-layers 0 --device cuda x
		infer-run --sandbox --device cuda x
		infer-inspect plan --device cuda --hw h100
		infer-bench kernels --device cuda
		infer-run --kv-bytes 1Q x
		infer-run --logit-bias 4 x
		infer-run --repeat-penalty 0 x
		infer-run --dry-penalty-last-n -2 x
		infer-run -o json x
		infer-inspect x
		infer-inspect hw -f x
		infer-inspect tensors --bos
		infer-inspect tokens --source
		infer-bench kernels -c 3
		infer-bench run --filter q8_0
		infer-bench frobnicate
		env -u INFER_MODEL infer-inspect --json
		infer-run --score -n 3 x
		infer-run --system-file x
		infer-run --isa
	END
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
	fails 2 'unknown option --tmep; did you mean --temp\?' infer-run --tmep 1 x
	fails 2 'unknown option --temperatur; did you mean --temp\?' infer-run --temperatur 1 x
	fails 2 'did you mean --json' infer-inspect --jsn
}

@test "options whose feature does not exist do not exist" {
	for o in --draft=ngram; do
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
	for size in 1GX 1BB 1iB 1KiBB B '1 ' 1K1 99999999999TB; do
		fails 2 "--kv-bytes: '?$size'? is (not a size|out of range)" infer-run --kv-bytes "$size" x
	done
	fails 2 "--output: 'xml' is not one of" infer-run -o xml x
	fails 2 "--kv-type: 'q9' is not one of f16, f32, q8_0, q4_0" infer-run --kv-type q9 x
	fails 2 "--kv-type: 'q8_0,' is not one of" infer-run --kv-type q8_0, x
	fails 2 "--kv-type: 'Q8_0' is not one of" infer-run --kv-type Q8_0 x
	fails 3 'Q4_0 needs heads of a multiple of 32' infer-run -m "$BATS_TEST_DIRNAME/../golden/logits/llama-gqa.gguf" --kv-type f16,q4_0 --raw x
	fails 2 "--act-type: 'f16' is not one of f32, bf16" infer-run --act-type f16 x
	fails 2 "--act-type: 'BF16' is not one of" infer-bench run --act-type BF16
	fails 3 'bf16 activations: the model has no F16 or BF16 matrix' infer-run --act-type bf16 --raw x
	fails 3 'bf16 activations: the model has no F16 or BF16 matrix' infer-bench run --act-type bf16 -p 4
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
	fails 2 '--max-tokens: -2 is out of range' infer-run -n -2 x
	fails 2 '--logprobs: 129 is out of range' infer-run --json --logprobs 129 x
	fails 2 '--seed: 99999999999999999999 does not fit' infer-run --seed 99999999999999999999 x
	fails 2 '--ctx: 99999999999999999999 is out of range' infer-run -c 99999999999999999999 x
}

@test "an option's value that is not UTF-8 is an error" {
	fails 2 '--stop: the value is not UTF-8' infer-run --stop $'\xff' x
	fails 2 '--model: the value is not UTF-8' infer-run -m $'a\xc3' x
}

@test "an unknown kernel set is an error that lists those there are" {
	fails 2 "'mmx' is not a kernel set; this machine runs ref" infer-run --isa mmx x
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
	fails 2 '--score and --tokenize exclude each other' infer-run --score --tokenize x
	fails 2 '-i and --batch exclude each other' infer-run -i --batch x
	fails 2 '--bos goes with --tokenize' infer-run --bos x
	fails 2 '--logprobs goes with -o jsonl, -o tokens or --batch only' infer-run --logprobs 2 x
	fails 2 '--echo does not go with --tokenize' infer-run --echo --tokenize x
	fails 2 '-o tokens does not go with --echo' infer-run --echo -o tokens x
	fails 2 '-o jsonl does not go with --tokenize' infer-run --tokenize --json x
	fails 2 '-o tokens does not go with --score' infer-run --score -o tokens x
	fails 2 'go with tokens only' infer-inspect show --raw
	fails 2 'takes no argument' infer-inspect hw x
}

@test "an option that does not go with the others is refused, whatever its value: the default too" {
	fails 2 '--rounds goes with ab only' infer-bench run --rounds 20
	fails 2 '--rounds goes with ab only' infer-bench run --rounds 21
	fails 2 '--tolerance goes with ab and compare only' infer-bench run --tolerance 2
	fails 2 '--max-rounds goes with ab only' infer-bench compare --max-rounds 100 a b
	fails 2 '--warmup goes with serve and ab only' infer-bench run --warmup 2
	fails 2 '--clock goes with run only' infer-bench serve --clock wall
	fails 2 '--repeat does not go with --score' infer-run --score --repeat 1 x
	fails 2 '-o text does not go with --batch' infer-run --batch x -o text
	# a variable of the environment is no option given
	INFER_MODEL=$M INFER_THREADS=1 fails 2 'rounds goes with ab only' infer-bench run --rounds 20
	printf '{"prompt":"a","max_tokens":1}' | INFER_THREADS=1 infer-run -q -m "$M" --batch - >out
}

@test "sizes have the units of other programs, and a context may be given in k" {
	while read -r size bytes; do
		infer-run -q --no-stdin --kv-bytes "$size" x 2>err >out || true
		same "there is $bytes" "$(grep -o 'there is [0-9.]* [a-zA-Z]*' err)"
	done <<-END
		999 999 bytes
		999B 999 bytes
		1K 1.00 KiB
		1k 1.00 KiB
		1KiB 1.00 KiB
		1kB 0.98 KiB
	END
	same 1024 "$(infer-run -q --no-stdin --json -c 1k -n 1 x | json run.ctx)"
	same 2048 "$(infer-run -q --no-stdin --json -c 2K -n 1 x | json run.ctx)"
	for n in k m 1kk 1mk 1.5M 1G 1.5k 99999999k 99999999M; do fails 2 '--ctx: ' infer-run -c $n x; done
	infer-inspect plan 8B --hw h100 -c 1M >mega
	same "$(infer-inspect plan 8B --hw h100 -c 1048576)" "$(cat mega)"
	fails 2 "--max-tokens: '1k' is not a whole number" infer-run -n 1k x
}

@test "-n -1 is no limit" {
	same "$(infer-run -q -m "$M" --no-stdin --temp 0 --raw -c 64 --ignore-eos x)" "$(infer-run -q -m "$M" --no-stdin --temp 0 --raw -c 64 --ignore-eos -n -1 x)"
}

@test "what would have no effect, or one that nobody means, is said" {
	for o in '-n 3' '--temp 2' '--seed 1' '--stop x' '--samplers top_k' '--logit-bias 1=1'; do
		for mode in --score --tokenize --detokenize; do
			# shellcheck disable=SC2086
			fails 2 "does not go with $mode" infer-run $mode $o the of
		done
	done
	echo text >it
	fails 2 '--system takes a text, not a file: --system "\$\(cat it\)"' infer-run -m demo --system @it x
	infer-run -q -m demo --no-stdin --system @nothing -n 1 x >out
	fails 2 'unknown option --system-file; try --system "\$\(cat FILE\)"' infer-run --system-file it x
	infer-run --no-stdin --stop '\n' -n 1 x >out 2>err
	same 1 "$(grep -c "warning: --stop '.n' has a backslash and an n, not a newline; " err)"
	infer-run --no-stdin --stop $'\n' -n 1 x >out 2>err
	[ ! -s err ]
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
	fails 2 'no model' infer-inspect --json
	infer-inspect >out 2>err
	infer-inspect -m demo | cmp - out
	grep -q 'built-in' err
	infer-inspect template 2>/dev/null | cmp - <(infer-inspect template -m demo)
	INFER_MODEL='' fails 2 'no model' infer-run --json x
}

@test "the built-in model by name and by path gives the same bytes" {
	same "$(infer-run -q -m demo --no-stdin --temp 0 --seed 1 "Story about a hen, a barn and a bell:")" \
		"$(infer-run -q -m "$TOP/libcore/demo/demo.gguf" --no-stdin --temp 0 --seed 1 "Story about a hen, a barn and a bell:")"
	same "$(infer-inspect -m demo --json | json id)" "$(infer-inspect -m "$TOP/libcore/demo/demo.gguf" --json | json id)"
}

@test "INFER_MODEL, INFER_THREADS and INFER_ISA stand in for options, and options win" {
	a=$(infer-run -q --temp 0 -n 4 --no-stdin the)
	same "$a" "$(INFER_MODEL=$PWD/missing infer-run -m "$M" -q --temp 0 -n 4 --no-stdin the)"
	INFER_MODEL=$PWD/missing fails 1 "$PWD/missing" infer-run x
	INFER_THREADS=many fails 2 "INFER_THREADS: 'many' is not a whole number" infer-run x
	INFER_ISA=mmx fails 2 "INFER_ISA: 'mmx' is not a kernel set" infer-run x
	INFER_ISA=mmx fails 2 "--isa: 'mmx' is not a kernel set" infer-run --isa mmx x
	INFER_THREADS=1 infer-run -q -n 1 --stats --no-stdin the 2>stats >/dev/null
	same 1 "$(json threads <stats)"
	INFER_THREADS=1 infer-run -q -t 2 -n 1 --stats --no-stdin the 2>stats >/dev/null
	same 2 "$(json threads <stats)"
	INFER_ISA=ref infer-run -q -n 1 --stats --no-stdin the 2>stats >/dev/null
	same ref "$(json isa <stats)"
	INFER_THREADS=many infer-run --help >/dev/null
}

@test "references to the hub that are malformed are refused by the part that is wrong" {
	fails 2 "hf:org: 'org' must be ORG/REPO" infer-run -m hf:org x
	fails 2 "hf:../x: '../x' must be ORG/REPO" infer-quant --type Q8_0 hf:../x out.gguf
	fails 2 "hf:a/b@../c: '../c' must be a branch, a tag or a commit" infer-inspect hf:a/b@../c
	fails 2 'hf:a/b:: a file or a quantisation must follow the colon' infer-bench run -m hf:a/b:
}

# complete WORD...: what bash would offer for the last word; = is a word of its own there, as in the shell
complete_bash()
{
	bash -c 'source "$TOP/completions/infer.bash"
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		"_${1//-/_}" 2>/dev/null
		echo "${COMPREPLY[*]}"' bash "$@"
}

@test "bash completes options, their values, sections and subjects" {
	touch a.gguf a.jsonl
	same '--template --template-args --temp' "$(complete_bash infer-run --te)"
	same 'f16 f32 q8_0 q4_0' "$(complete_bash infer-run --kv-type '')"
	same 'q8_0 q4_0' "$(complete_bash infer-run --kv-type = q)"
	same 'f16,q8_0 f16,q4_0' "$(complete_bash infer-run --kv-type f16,q)"
	same 'f32 bf16' "$(complete_bash infer-run --act-type '')"
	same 'text jsonl tokens' "$(complete_bash infer-run -o '')"
	same '0 1 2' "$(complete_bash infer-run --mirostat '')"
	same 'top_k,temperature' "$(complete_bash infer-run --samplers top_k,te)"
	same 'sampling safety' "$(complete_bash infer-run --help = sa)"
	same 'demo' "$(complete_bash infer-run -m d)"
	same 'a.gguf' "$(complete_bash infer-run -m a)"
	same 'a.jsonl' "$(complete_bash infer-run --batch a.j)"
	same 'show' "$(complete_bash infer-inspect s)"
	same 'run report' "$(complete_bash infer-bench r)"
	same 'eval' "$(complete_bash infer-quant e)"
	[[ " $(complete_bash infer-quant '') " == *' eval imatrix '*' a.gguf '* ]]
	[[ " $(complete_bash infer-quant a.gguf '') " != *' eval '* ]]
	[[ " $(complete_bash infer-inspect plan --hw rtx) " == *' rtx-3090 '*' rtx-4090 '* ]]
	same 'a.jsonl' "$(complete_bash infer-inspect hw --hw a.j)"
	[[ " $(complete_bash infer-run --isa '') " == *' ref '* ]]
	[ -z "$(complete_bash infer-run --temp '')" ]
	[ -z "$(complete_bash infer-bench --seqs '')" ]
}

@test "fish completes the same, where it is installed" {
	command -v fish >/dev/null || skip "needs the shell fish (package fish)"
	offers() { HOME=$PWD fish --no-config -c "source '$TOP/completions/infer.fish'; complete -C '$1'" | cut -f 1 | tr '\n' ' '; }
	same '--kv-bytes --kv-type ' "$(offers 'infer-run --kv-')"
	same 'q4_0 q8_0 ' "$(offers 'infer-run --kv-type q')"
	same 'template tensors tokens ' "$(offers 'infer-inspect t')"
	same '--help=safety --help=sampling ' "$(offers 'infer-run --help=sa')"
	same 'eval imatrix ' "$(offers 'infer-quant ' | grep -o 'eval imatrix ')"
	[[ " $(offers 'infer-inspect plan --hw rtx')" == *' rtx-3090 '* ]]
	touch a.jsonl
	same 'a.jsonl ' "$(offers 'infer-run --batch a.j')"
	[ -z "$(offers 'infer-run a.j')" ]
}
