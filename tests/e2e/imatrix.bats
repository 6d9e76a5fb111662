# infer-quant imatrix
load lib

setup_more() {
	perl -e 'print " word", $_ * $_ % 97 for 1 .. 3000' >text
	mkmodel --arch qwen3moe --seed 4 "$BATS_FILE_TMPDIR/moe.gguf"
	export MOE=$BATS_FILE_TMPDIR/moe.gguf TEXT=$BATS_FILE_TMPDIR/text
}

imatrix() { infer-quant imatrix "$@"; }

@test "imatrix: a file in the public form, the same for any threads and steps, that quantising takes" {
	head -c 6000 "$TEXT" >t
	imatrix -f t -c 64 -t 1 --out a
	imatrix -f t -c 64 -t 3 --prefill-chunk 7 --out b
	cmp a b
	[ ! -e a.part ]
	infer-inspect --json a | grep -q '"key":"general.type".*"imatrix"'
	imatrix --show a >s
	grep -q '^text  *t$' s
	grep -Eq '^windows +[0-9]+ of 64 tokens$' s
	rows=$(($(sed -n 's/^windows *\([0-9]*\) .*/\1/p' s) * 64))
	grep -Eq "^ +64 +1 +$rows +$rows +[0-9.e-]+ +[0-9.]+  blk.0.attn_q.weight$" s
	infer-quant -q --type Q4_0 --imatrix a "$M" q.gguf
	infer-inspect --json q.gguf | grep -q 'quantize.imatrix.chunks_count'
}

@test "imatrix: every expert has its own rows" {
	head -c 3000 "$TEXT" >t
	imatrix -m "$MOE" -f t -c 64 --out a
	imatrix --show a >s
	awk '/ffn_down_exps/ && $2 > 1 && $3 < $4 { n++ } END { exit n < 1 }' s
}

@test "imatrix --merge: the sums of the parts are the sums of the whole" {
	head -c 3000 "$TEXT" >t
	imatrix -f t -c 32 --out a
	imatrix --merge a a --out b
	imatrix --show a a >two
	imatrix --show b >one
	cmp one two
	same "$(($(imatrix --show a | sed -n 's/^windows *\([0-9]*\) .*/\1/p') * 2))" "$(sed -n 's/^windows *\([0-9]*\) .*/\1/p' one)"
}

@test "imatrix: a run that was killed is continued, and the result is the same" {
	imatrix -f "$TEXT" -c 16 -t 1 --out whole
	imatrix -f "$TEXT" -c 16 -t 1 --out f &
	for _ in $(seq 3000); do [ ! -e f.part ] || break; sleep 0.01; done
	kill -9 $! || true
	wait $! || true
	if [ ! -e f ]; then
		infer-inspect f.part >/dev/null 2>&1 || [ -s f.part ]
		imatrix -f "$TEXT" -c 16 -t 1 --out f
	fi
	cmp whole f
	[ ! -e f.part ]
	# what belongs to another text is not continued
	head -c 3000 "$TEXT" >t
	imatrix -f t -c 16 --out g
	cp g f.part
	imatrix -f "$TEXT" -c 16 -t 1 --out f
	cmp whole f
}

@test "imatrix: what is asked wrongly" {
	printf 'a \377' >bytes
	fails 2 'bytes: not UTF-8 at byte 2$' imatrix -m "$M" -f bytes --out x
	head -c 3000 "$TEXT" >t
	fails 2 'no text' imatrix --out x
	fails 2 '--out says' imatrix -f t
	fails 2 'takes no argument' imatrix more -f t --out x
	fails 2 'writes nothing' imatrix --show t --out x
	fails 2 'no importance matrix is named' imatrix --show
	fails 2 'does not go with' imatrix --merge a -f t --out x
	for o in '--type Q4_0' --copy --json '--ref x' '--choices x' '--record x'; do
		fails 2 'imatrix takes' imatrix -f t --out x $o
	done
	fails 2 'a window has 512' imatrix -f <(head -c 300 t) --out x
	: >empty
	fails 2 'is empty' imatrix -f empty --out x
	fails 1 nosuch imatrix -f nosuch --out x
	fails 1 nosuch imatrix --show nosuch
	fails 3 'general.type is not imatrix' imatrix --show "$M"
	fails 3 '' imatrix --show t
	fails 1 nowhere imatrix -f t -c 32 --out nowhere/x
	[ ! -e x ]
	imatrix -f t -c 32 --out a
	mkmodel --embd 128 wide.gguf
	imatrix -m wide.gguf -f t -c 32 --out b
	fails 3 'before' imatrix --merge a b --out x
}
