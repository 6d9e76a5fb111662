# infer-quant eval
load lib

# 48 tokens of the model's own words, each behind a blank, so that the text may be repeated and falls into equal windows of 48
setup_more() {
	mkmodel --seed 2 --type q4_0 "$BATS_FILE_TMPDIR/other.gguf"
	export OTHER=$BATS_FILE_TMPDIR/other.gguf
	infer-run -n 47 --raw --temp 1 --seed 5 --ignore-eos --no-stdin ' ' -o tokens | json text | perl -pe 's/\n//; s/[^a-z ]//g' >words
	perl -ne 'my @w = grep { length } split / /; print " $w[$_ % @w]" for 0 .. 199' words >text
	printf '%s' "$(infer-run --tokenize --no-stdin -f text | cut -d' ' -f1-48 | infer-run --detokenize --no-stdin -f -)" >window
}

# mean FIELD FILE
mean() { echo "$(json "$1.value" <"$2") $(json "$1.se" <"$2")"; }
evaluate() { infer-quant eval "$@"; }

@test "eval: a table for people, one JSON line for programs, the same line appended to a file" {
	evaluate -f "$BATS_FILE_TMPDIR/text" -c 32 --record r >a
	grep -Eq '^tokens +[0-9]+ in [0-9]+ windows of 32, [0-9]+ scored$' a
	grep -Eq '^perplexity +[0-9.]+ \+- [0-9.]+$' a
	same 2 "$(wc -l <a)"
	evaluate -f "$BATS_FILE_TMPDIR/text" -c 32 --json --record r >b
	cmp b <(tail -n 1 r)
	same 2 "$(wc -l <r)"
	same "$(printf 'eval\neval')" "$(json kind <r)"
	same text "$(json eval <b)"
	same "$(sha256sum "$BATS_FILE_TMPDIR/text" | cut -c1-64)" "$(json sha256 <b)"
	same "$(($(json tokens <b) / 32 * 15))" "$(json scored <b)"
	same '["--ctx=32"]' "$(json run.flags <b)"
	printf '{"torn' >>r
	evaluate -f - -c 32 --record r <"$BATS_FILE_TMPDIR/text" >c
	same 3 "$(json kind <r | wc -l)"
	cmp a c
}

@test "eval: the windows of the text, scored in their second half, as infer-run --score scores them" {
	cat "$BATS_FILE_TMPDIR/window" "$BATS_FILE_TMPDIR/window" >twice
	same 48 "$(infer-run --tokenize --no-stdin -f "$BATS_FILE_TMPDIR/window" | wc -w)"
	evaluate -f twice -c 48 --json >a
	same "2 46" "$(json windows <a) $(json scored <a)"
	infer-run --score --json --no-stdin -f "$BATS_FILE_TMPDIR/window" -c 48 >b
	perl -MJSON::PP -e 'my ($a, $b) = map { decode_json($_) } <>; my @p = @{$b->{logprobs}}[25 .. 47]; my $s = 0; $s -= $_ / 23 for @p;
		die "$s, $a->{nll}{value}\n" if abs($s - $a->{nll}{value}) > 1e-6 || abs(exp($s) / $a->{perplexity}{value} - 1) > 1e-6' a b
	# BOS takes the place of the first token of each window
	infer-run --tokenize --no-stdin -m "$SPM" -f "$BATS_FILE_TMPDIR/text" --bos | wc -w >n
	evaluate -m "$SPM" -f "$BATS_FILE_TMPDIR/text" -c 32 --json >c
	same "$(cat n)" "$(json tokens <c)"
}

@test "eval --ref: both models in one pass; a model beside itself is no distance away" {
	evaluate -f "$BATS_FILE_TMPDIR/text" -c 32 --ref "$M" --json >a
	same '0 0 1 1 1' "$(for f in kl.max dp.rms.value ratio.value same_top1.value same_top5.value; do json $f <a; done | paste -sd ' ')"
	same "$(json nll.value <a)" "$(json ref_nll.value <a)"
	evaluate -f "$BATS_FILE_TMPDIR/text" -c 32 --ref "$OTHER" --json >b
	same "$(mean nll a)" "$(mean nll b)"
	same "$OTHER" "$(json ref.path <b)"
	same "$M" "$(json run.model.path <b)"
	perl -MJSON::PP -e 'my $r = decode_json(<>); my $k = $r->{kl};
		die unless $k->{mean}{lo} < $k->{mean}{value} && $k->{mean}{value} < $k->{mean}{hi} && $k->{median}{value} < $k->{p90}{value} &&
			$k->{p90}{value} < $k->{p99}{value} && $k->{p99}{value} <= $k->{max} && $k->{max} > 0' b
	# the other way about: the perplexities change places
	evaluate -m "$OTHER" -f "$BATS_FILE_TMPDIR/text" -c 32 --ref "$M" --json >c
	same "$(mean perplexity b)" "$(mean ref_perplexity c)"
	same "$(mean ref_perplexity b)" "$(mean perplexity c)"
	evaluate -f "$BATS_FILE_TMPDIR/text" -c 32 --ref "$OTHER" >table
	same 16 "$(wc -l <table)"
	awk 'length > 80 { print; wide = 1 } END { exit wide }' table
}

@test "eval --beside: which of two models is nearer to the reference, position by position" {
	# the reference itself on one side: the difference is all of the other's divergence
	evaluate -f "$BATS_FILE_TMPDIR/text" -c 32 --ref "$OTHER" --beside "$OTHER" --json >a
	same "$(for f in value lo hi; do json kl.mean.$f <a; done)" "$(for f in value lo hi; do json kl_difference.$f <a; done)"
	same "$(mean ref_nll a) 0 1" "$(mean beside_nll a) $(json beside_kl.value <a) $(json beside_same_top1.value <a)"
	same "$OTHER" "$(json beside.path <a)"
	evaluate -f "$BATS_FILE_TMPDIR/text" -c 32 --ref "$OTHER" --beside "$OTHER" >table
	same 20 "$(wc -l <table)"
	same "$(sed -n 's/^divergence, mean //p' table | tr -d ' ')" "$(sed -n 's/^model less beside//p' table | tr -d ' ')"
	fails 2 '--ref is needed' evaluate -f "$BATS_FILE_TMPDIR/text" --beside "$OTHER"
}

@test "eval: the same numbers for any threads and steps" {
	evaluate -f "$BATS_FILE_TMPDIR/text" -c 32 --ref "$OTHER" -t 1 --record r >/dev/null
	evaluate -f "$BATS_FILE_TMPDIR/text" -c 32 --ref "$OTHER" -t 3 --prefill-chunk 5 --record r >/dev/null
	evaluate -f "$BATS_FILE_TMPDIR/text" -c 32 --ref "$OTHER" -t 2 --isa ref --no-prefix-cache --record r >/dev/null
	same 3 "$(wc -l <r)"
	same 1 "$(sed 's/"run":.*//; s/^{"v":1,/{/' r | sort -u | wc -l)"
}

@test "eval --choices: questions, answered by likelihood" {
	printf '%s\n' '{"prompt":"the cat","choices":[" sat"," ran home"," is"],"answer":1}' '' '{"prompt":"a","choices":[" dog"," b"],"answer":0,"more":1}' >q
	evaluate --choices q --json >a
	same 'choices 2' "$(json eval <a) $(json questions <a)"
	same "$(sha256sum q | cut -c1-64)" "$(json sha256 <a)"
	# what the tokens of the choices are worth to infer-run --score
	for t in 'the cat sat' 'the cat ran home' 'the cat is' 'a dog' 'a b'; do
		infer-run --score --json --no-stdin "$t"
	done | perl -MJSON::PP -e 'my @s; for (<>) { my @p = @{decode_json($_)->{logprobs}}; my $s = 0; $s += $_ // 0 for @p; push @s, $s }
		sub best { my $b = 0; $_[$_] > $_[$b] and $b = $_ for 0 .. $#_; $b }
		print +(best(@s[0 .. 2]) == 1) + (best(@s[3, 4]) == 0), "\n"' >right
	same "$(cat right)" "$(json right <a)"
	evaluate --choices q >b
	grep -Eq '^questions +2$' b
	grep -Eq '^accuracy +[0-9.]+ \([0-9.]+ \.\.\. [0-9.]+\)$' b
	printf '{"prompt":"a","choices":[" b"],"answer":1}\n' >>q
	fails 3 'q: line 4: answer must be the index' evaluate --choices q
	printf 'x\n' >q
	fails 3 'q: line 1' evaluate --choices q
	printf '\n' >q
	fails 3 'no question' evaluate --choices q
	: >q
	fails 2 'q: is empty' evaluate --choices q
	fails 1 'nosuch' evaluate --choices nosuch
}

@test "eval: what is asked wrongly" {
	text=$BATS_FILE_TMPDIR/text
	fails 2 'nothing to measure with' evaluate
	fails 2 'exclude each other' evaluate -f "$text" --choices q
	fails 2 'goes with -f only' evaluate --choices q --ref "$OTHER"
	fails 2 'takes no argument' evaluate more -f "$text"
	fails 2 'two windows of 512' evaluate -f "$BATS_FILE_TMPDIR/window"
	fails 2 'two windows of 30, 60 tokens: use more text, or smaller windows by -c' evaluate -c 30 -f "$BATS_FILE_TMPDIR/window"
	fails 2 'at least 4' evaluate -c 3 -f "$text"
	for o in '--type Q4_0' --copy '--keep a=Q8_0' '--imatrix f' --dry-run --verify '--split-max-size 1G' '--out x' --show --merge; do
		fails 2 'do not go with eval' evaluate -f "$text" $o
	done
	for o in '-m demo' '-f x' '--ref demo' '--beside demo' '--choices x' '--record x' '-c 32' '--kv-type f32' --no-prefix-cache; do
		fails 2 'go with eval and imatrix only' infer-quant --copy demo x.gguf $o
	done
	fails 2 'a copy computes nothing' infer-quant --copy --isa ref demo x.gguf
	: >empty
	fails 2 'empty: is empty' evaluate -f empty
	fails 1 'nosuch' evaluate -f nosuch
	printf '\377' >bad
	fails 2 'UTF-8' evaluate -f bad
	fails 1 'nosuch' evaluate -f "$text" -c 32 --ref nosuch
	fails 2 'the vocabularies differ' evaluate -f "$text" -c 32 --ref "$SPM"
	mkmodel --vocab 900 small.gguf
	fails 2 'the vocabularies differ: 1024 tokens, and 900' evaluate -f "$text" -c 32 --ref small.gguf
	printf 'text' >notes
	fails 3 'notes: line 1 is not a record' evaluate -f "$text" -c 32 --record notes
	same text "$(cat notes)"
	fails 1 'nowhere' evaluate -f "$text" -c 32 --record nowhere/r
	fails 2 'names a model|model' env -u INFER_MODEL infer-quant eval -f "$text" -c 32
}
