# infer-quant --merge-lora: adapters in the weights
load lib

setup_more()
{
	export F32=$BATS_FILE_TMPDIR/f32.gguf LORA=$BATS_FILE_TMPDIR/style.gguf OTHER=$BATS_FILE_TMPDIR/other.gguf
	mkmodel --embd 256 --ff 512 --layers 2 --vocab 512 "$F32"
	mklora -r 8 -a 16 -s 1 "$F32" "$LORA"
	mklora -r 2 -a 2 -s 2 -t attn_q,ffn_down "$F32" "$OTHER"
}

types() { infer-inspect tensors "$1" | awk 'NR > 1 { print $NF, $4 }'; }
meta() { infer-inspect --json --all "$1" | grep "\"$2\"" | json value; }
none() { [ ! -e "$1" ] && [ ! -e "$1.part" ] && [ ! -e "$1.resume" ]; }
# logits_far A B: the largest difference of logits over the largest logit, of commands' outputs in files
logits_far()
{
	perl -e 'use strict; my @v = map { local $/; open my $f, "<:raw", $_ or die; [unpack "f<*", <$f>] } @ARGV;
		my ($d, $m) = (0, 0); die "sizes\n" unless @{$v[0]} && @{$v[0]} == @{$v[1]};
		for (0 .. $#{$v[0]}) { my $x = abs($v[0][$_] - $v[1][$_]); $d = $x if $x > $d; $x = abs $v[0][$_]; $m = $x if $x > $m; }
		printf "%.3g\n", $d / $m' "$1" "$2"
}
# less A B: numbers
less() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a < b) }'; }
IDS='3 14 15 92 65 35 89 79'

@test "merged: the logits of the adapter over the model" {
	for s in 1 0.5 -1; do
		infer-quant -q --merge-lora "$LORA=$s" "$F32" m$s.gguf
		# shellcheck disable=SC2086
		{
			logits --lora "$LORA=$s" "$F32" 64 $IDS >want
			logits m$s.gguf 64 $IDS >have
			logits "$F32" 64 $IDS >base
		}
		less "$(logits_far want have)" 1e-5
		less 1e-3 "$(logits_far want base)"
	done
	infer-quant -q --merge-lora "$LORA" --merge-lora "$OTHER=2" "$F32" two.gguf
	# shellcheck disable=SC2086
	{
		logits --lora "$LORA" --lora "$OTHER=2" "$F32" 64 $IDS >want
		logits two.gguf 64 $IDS >have
	}
	less "$(logits_far want have)" 1e-5
}

@test "merged and quantised: as near to the adapter over the model as the quantised model is to the model" {
	for t in Q8_0 Q4_K; do
		infer-quant -q --type $t "$F32" plain.gguf
		infer-quant -q --type $t --merge-lora "$LORA" "$F32" merged.gguf
		same "$(types plain.gguf)" "$(types merged.gguf)"
		# shellcheck disable=SC2086
		{
			logits "$F32" 64 $IDS >a
			logits plain.gguf 64 $IDS >b
			logits --lora "$LORA" "$F32" 64 $IDS >c
			logits merged.gguf 64 $IDS >d
		}
		less "$(logits_far c d)" "$(awk -v x="$(logits_far a b)" 'BEGIN { print 2 * x }')"
		less "$(logits_far c d)" "$(logits_far b d)"
	done
}

@test "over a quantised model: as near to the merged decoded model as the quantised model is to the decoded one" {
	for t in Q8_0 Q4_K; do
		infer-quant -q --type $t "$F32" q.gguf
		infer-quant -q --type F32 q.gguf decoded.gguf
		infer-quant -q --merge-lora "$LORA" decoded.gguf merged.gguf
		# shellcheck disable=SC2086
		{
			logits decoded.gguf 64 $IDS >a
			logits q.gguf 64 $IDS >b
			logits merged.gguf 64 $IDS >c
			logits --lora "$LORA" q.gguf 64 $IDS >d
		}
		less "$(logits_far c d)" "$(awk -v x="$(logits_far a b)" 'BEGIN { print 2 * x + 1e-5 }')"
		less "$(awk -v x="$(logits_far c d)" 'BEGIN { print 10 * x }')" "$(logits_far c b)"
	done
}

@test "a scale of 0 is no adapter: the same bytes" {
	infer-quant -q --copy "$F32" a.gguf
	infer-quant -q --merge-lora "$LORA=0" "$F32" b.gguf
	cmp a.gguf b.gguf
	infer-quant -q --type Q4_K "$F32" a.gguf
	infer-quant -q --type Q4_K --merge-lora "$LORA=0" --merge-lora "$OTHER=-0" "$F32" b.gguf
	cmp a.gguf b.gguf
}

@test "without a type, tensors that change are encoded in their own, and others are copied" {
	infer-quant -q --type Q4_K_M "$F32" q.gguf
	infer-quant --merge-lora "$OTHER" --verify q.gguf m.gguf 2>err
	grep -q 'are quantised already' err
	same "$(types q.gguf)" "$(types m.gguf)"
	infer-quant -q --merge-lora "$OTHER" --json q.gguf n.gguf >records
	same 'blk.0.attn_q.weight blk.0.ffn_down.weight blk.1.attn_q.weight blk.1.ffn_down.weight' \
		"$(grep '"merged":true' records | json name | sort | paste -sd ' ')"
	same 4 "$(tail -1 records | json encoded)"
	cmp m.gguf n.gguf
	infer-quant -q --merge-lora "$OTHER" --isa ref -t 1 q.gguf r.gguf
	cmp m.gguf r.gguf
	infer-quant --merge-lora "$OTHER" --dry-run q.gguf >table
	grep -q '^tensors .*, 4 encoded' table
}

@test "keys name what was merged, again after a second merge" {
	infer-quant -q --merge-lora "$LORA=0.5" "$F32" a.gguf
	same 'style 0.5' "$(meta a.gguf infer.lora.0.name) $(meta a.gguf infer.lora.0.scale)"
	same "$(sha256sum <"$LORA" | cut -d' ' -f1)" "$(meta a.gguf infer.lora.0.sha256)"
	same "$(meta "$F32" general.name) + style" "$(meta a.gguf general.name)"
	infer-quant -q --type Q8_0 --merge-lora "$OTHER" a.gguf b.gguf
	same 'style other 1' "$(meta b.gguf infer.lora.0.name) $(meta b.gguf infer.lora.1.name) $(meta b.gguf infer.lora.1.scale)"
	same "$(meta "$F32" general.name) + style + other" "$(meta b.gguf general.name)"
	infer-quant -q --copy b.gguf c.gguf
	cmp b.gguf c.gguf
}

@test "directories, compressed, split, recipes: the same tensors" {
	infer-quant -q --type Q8_0 --merge-lora "$LORA" --save-recipe r.yaml "$F32" a.gguf
	infer-quant -q --recipe r.yaml --merge-lora "$LORA" "$F32" b.gguf
	cmp a.gguf b.gguf
	infer-quant -q --type Q8_0 --merge-lora "$LORA" --split-max-size 300K "$F32" s.gguf
	infer-quant -q --merge s-00001-of-*.gguf c.gguf
	cmp a.gguf c.gguf
	infer-quant -q --type Q8_0 --merge-lora "$LORA" --zstd "$F32" z.gguf
	infer-quant -q --copy z.gguf d.gguf
	cmp a.gguf d.gguf
	infer-quant -q --copy --split-max-size 300K "$F32" in.gguf
	infer-quant -q --merge --merge-lora "$LORA" in-00001-of-*.gguf e.gguf
	infer-quant -q --copy --merge-lora "$LORA" "$F32" f.gguf
	cmp e.gguf f.gguf
	mkhf "$F32" dir
	infer-quant -q --merge-lora "$LORA" dir g.gguf
	# shellcheck disable=SC2086
	same "$(logits f.gguf 64 $IDS | sha256sum)" "$(logits g.gguf 64 $IDS | sha256sum)"
}

@test "a tied output that changes becomes a tensor of its own" {
	base=$TOP/tests/golden/logits/llama3-hub.gguf
	for of in head embed; do
		infer-quant -q --merge-lora "$TOP/tests/golden/lora/llama3-hub/$of.gguf" "$base" m.gguf
		same "$(types "$base")
output.weight F32" "$(types m.gguf)"
		logits --lora "$TOP/tests/golden/lora/llama3-hub/$of.gguf" "$base" 64 14 24 13 42 >want
		logits m.gguf 64 14 24 13 42 >have
		logits "$base" 64 14 24 13 42 >plain
		less "$(logits_far want have)" 1e-5
		less 1e-3 "$(logits_far want plain)"
	done
	infer-quant -q --merge-lora "$TOP/tests/golden/lora/llama3-hub/all.gguf" "$base" m.gguf
	same "$(types "$base")" "$(types m.gguf)"
}

@test "what does not go together is refused by name, and nothing is written" {
	echo text >text
	for o in '--type Q4_K --method gptq -f text' '--bpw 4.5 -f text' '--max-bytes 1M -f text' '--type Q4_K --report -f text'; do
		# shellcheck disable=SC2086
		fails 2 '--merge-lora: GPTQ, --bpw, --max-bytes and --report measure IN' infer-quant --merge-lora "$LORA" $o "$F32" x.gguf
	done
	printf 'infer-recipe: 1\ntype: Q4_K\nmethod: gptq\n' >r.yaml
	fails 2 'measure IN, which lacks the adapter' infer-quant --merge-lora "$LORA" --recipe r.yaml "$F32" x.gguf
	fails 2 'style.gguf: the adapter is given twice' infer-quant --merge-lora "$LORA" --merge-lora "$LORA=2" "$F32" x.gguf
	fails 2 'at most 8 adapters' infer-quant $(for i in 1 2 3 4 5 6 7 8 9; do echo --merge-lora $i; done) "$F32" x.gguf
	fails 2 'go with --type only' infer-quant --merge-lora "$LORA" --keep ffn=Q8_0 "$F32" x.gguf
	fails 2 '=1: names no file' infer-quant --merge-lora =1 "$F32" x.gguf
	fails 2 '=1e99: the scale is too large' infer-quant --merge-lora "$LORA=1e99" "$F32" x.gguf
	fails 1 'style.gguf=x: No such file' infer-quant --merge-lora "$LORA=x" "$F32" x.gguf
	cp "$LORA" a=b=2.gguf
	infer-quant -q --merge-lora a=b=2.gguf=0 "$F32" y.gguf
	cp "$LORA" own.gguf
	fails 2 'own.gguf' infer-quant --merge-lora own.gguf=2 "$F32" own.gguf
	cmp "$LORA" own.gguf
	fails 1 'no-such.gguf: No such file' infer-quant --merge-lora no-such.gguf "$F32" x.gguf
	mkmodel --embd 128 --ff 512 --layers 2 --vocab 512 small.gguf
	fails 3 'style.gguf: tensor .*must have' infer-quant --merge-lora "$LORA" small.gguf x.gguf
	fails 2 'small.gguf: .*adapter' infer-quant --merge-lora small.gguf "$F32" x.gguf
	# weights that change, in types that are only written with importances
	infer-quant -q imatrix -m "$F32" -c 32 -f <(yes 'the of and' | head -60) --out imatrix
	infer-quant -q --type IQ2_XXS --imatrix imatrix "$F32" iq.gguf
	fails 3 'blk.0.attn_[a-z]*.weight changes, but weights are not written as IQ2_XXS without importances' \
		infer-quant --merge-lora "$LORA" iq.gguf x.gguf
	none x.gguf
}
